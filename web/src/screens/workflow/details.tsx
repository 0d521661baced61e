/** Changes a workflow's description, visibility and tags. Its name and definition have the editor. */
import type { UpdateWorkflowRequest, Workflow } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { cache } from '../../data/query.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { peopleSchema } from '../../ui/people-field.tsx';
import { TaggedForm } from '../../ui/tagged-form.tsx';
import { tell } from '../../ui/toasts.tsx';
import { words } from './details-words.ts';

interface Props {
  id: string;
  open: boolean;
  onClose: () => void;
}

export function Details({ id, open, onClose }: Props) {
  return (
    <Dialog open={open} title={words.title} onClose={onClose}>
      <TaggedForm<Workflow>
        id="details"
        queryKey={['workflow-details', id]}
        read={(signal) => client.tagged('getWorkflow', { path: { id }, signal })}
        schema={schema}
        valuesOf={valuesOf}
        submit={words.save}
        save={async (body, headers) => {
          const saved = await client.call('updateWorkflow', { path: { id }, body: bodyOf(body), headers });
          cache.setQueryData(['workflow', id], saved);
          tell(words.saved);
        }}
        onClose={onClose}
      />
    </Dialog>
  );
}

/** Runners are fields of their own in the form. */
function valuesOf({ description, visibility, tags, runners }: Workflow) {
  const { users = [], groups = [], everyone = false } = runners ?? {};
  return { description, visibility, tags, users, groups, everyone };
}

/** The form's fields as a patch: a list of runners that was emptied has gone. */
function bodyOf({ users, groups, everyone, ...fields }: Record<string, unknown>): UpdateWorkflowRequest {
  const given = Object.entries({ users, groups, everyone }).filter(([, value]) => value !== undefined);
  const emptied = { users: [], groups: [], everyone: false };
  const runners = given.map(([name, value]) => [name, value ?? Reflect.get(emptied, name)]);
  return given.length === 0 ? fields : { ...fields, runners: Object.fromEntries(runners) };
}

const schema = {
  type: 'object',
  required: ['visibility'],
  properties: {
    description: { type: 'string', title: words.description, maxLength: 100_000 },
    visibility: {
      title: words.visibility,
      oneOf: (['private', 'public'] as const).map((one) => ({ const: one, title: words.choices[one] })),
    },
    tags: {
      type: 'array',
      items: { type: 'string' },
      title: words.tags,
      description: words.tagsHelp,
    },
    users: peopleSchema(words.runners, words.runnersHelp),
    groups: {
      type: 'array',
      items: { type: 'string' },
      title: words.runnerGroups,
      description: words.tagsHelp,
    },
    everyone: { type: 'boolean', title: words.everyone },
  },
};
