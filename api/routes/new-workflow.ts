/** The fields of a workflow that clients set. */
import * as z from 'zod';

import { jsonObject, text } from '../schemas.ts';

const visibility = z.enum(['private', 'public']);
const name = text({ min: 1, max: 255 });
const description = text({ max: 100_000 });
const tags = z.array(text({ min: 1, max: 100 })).max(50);
const definition = jsonObject.meta({
  description:
    'Open Workflow Specification DSL 1.0.x as JSON. A missing `document` is generated from `name`.',
});

export const workflowFields = { name, definition, description, visibility, tags };

export const newWorkflow = z.object({
  name,
  definition,
  description: description.nullish(),
  visibility: visibility.nullish(),
  tags: tags.nullish(),
});
