/** Changes a workflow's description, visibility and tags. Its name and definition have the editor. */
import type { Workflow } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { cache } from '../../data/query.ts';
import { Dialog } from '../../ui/dialog.tsx';
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
        valuesOf={({ description, visibility, tags }) => ({ description, visibility, tags })}
        submit={words.save}
        save={async (body, headers) => {
          const saved = await client.call('updateWorkflow', { path: { id }, body, headers });
          cache.setQueryData(['workflow', id], saved);
          tell(words.saved);
        }}
        onClose={onClose}
      />
    </Dialog>
  );
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
  },
};
