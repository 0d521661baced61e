/** The fields of a workflow that clients set. */
import * as z from 'zod';

import { budgetSchema } from '../../contracts/budgets.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { MAX_YAML_CHARACTERS } from '../../language/yaml/read-yaml.ts';
import { MAX_RUNNERS } from '../../contracts/runners.ts';
import { text, uuid } from '../schemas.ts';

const visibility = z.enum(['private', 'public']);
const name = text({ min: 1, max: 255 });
const description = text({ max: 100_000 });
const tags = z.array(text({ min: 1, max: 100 })).max(50);
const definition = z
  .custom<Record<string, unknown> | string>()
  .check((context) => {
    if (isRecord(context.value) || typeof context.value === 'string') return;
    const message =
      context.value === undefined ? 'is required' : 'must be an object, or one written as YAML or JSON';
    const code = context.value === undefined ? 'required' : 'invalid_type';
    context.issues.push({ code: 'custom', input: context.value, message, params: { code } });
  })
  .meta({
    anyOf: [
      { type: 'object', additionalProperties: {} },
      { type: 'string', maxLength: MAX_YAML_CHARACTERS },
    ],
    description:
      'Open Workflow Specification DSL 1.0.x: an object, or its text as YAML or JSON, which is kept as it ' +
      'is written, with its comments. A missing `document` is generated from `name`.',
  });

const names = z
  .array(text({ min: 1, max: 100 }))
  .max(MAX_RUNNERS)
  .optional();

/** Who may start it, whatever their role. */
export const runners = z
  .strictObject({ users: names, groups: names, everyone: z.boolean().optional() })
  .meta({
    id: 'Runners',
    description:
      'Who may start the workflow, whatever their role: users by id or username, groups, or everyone who ' +
      'is signed in. They see its name and input schema, and of their runs input, output and state.',
  });

export const workflowFields = { name, definition, description, visibility, tags };

export const newWorkflow = z.object({
  name,
  definition,
  description: description.nullish(),
  visibility: visibility.nullish(),
  tags: tags.nullish(),
  budget: budgetSchema.nullish(),
  team_id: uuid.nullish().meta({ description: 'The team that it is for; default: the caller.' }),
  runners: runners.nullish(),
});
