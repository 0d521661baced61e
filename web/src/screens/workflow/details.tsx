/** Changes a workflow's description, visibility and tags. Its name and definition have the editor. */
import { useSignal } from '@preact/signals';

import { ApiError, type Workflow } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { cache, useQuery } from '../../data/query.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { patchOf } from '../../ui/form-sections.ts';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordForm } from '../../ui/record-form.tsx';
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
      <Content id={id} onClose={onClose} />
    </Dialog>
  );
}

interface Tagged {
  record: Workflow;
  etag: string | null;
}

function Content({ id, onClose }: Omit<Props, 'open'>) {
  const { data, error, refetch } = useQuery<Tagged>({
    queryKey: ['workflow-details', id],
    // The tag belongs to what the form began with, so it is read once for each opening.
    staleTime: Infinity,
    gcTime: 0,
    queryFn: ({ signal }) => client.tagged('getWorkflow', { path: { id }, signal }),
  });
  if (error !== null) return <ProblemText error={error} retry={() => void refetch()} />;
  if (data === undefined) return <div aria-busy="true" />;
  return <Form key={data.etag} {...data} onClose={onClose} onReload={() => void refetch()} />;
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

function Form({ record, etag, onClose, onReload }: Tagged & { onClose: () => void; onReload: () => void }) {
  const isStale = useSignal(false);
  const { id, description, visibility, tags } = record;
  const save = async (body: Record<string, unknown>) => {
    const patch = patchOf(body, { description, visibility, tags });
    if (Object.keys(patch).length > 0) {
      const headers = etag === null ? {} : { 'if-match': etag };
      try {
        const saved = await client.call('updateWorkflow', { path: { id }, body: patch, headers });
        cache.setQueryData(['workflow', id], saved);
        tell(words.saved);
      } catch (error) {
        isStale.value = error instanceof ApiError && error.status === 412;
        throw error;
      }
    }
    onClose();
  };
  return (
    <RecordForm
      id="details"
      sections={[{ id: 'details', member: '', schema, values: { description, visibility, tags } }]}
      submit={words.save}
      onCancel={onClose}
      onSubmit={save}
    >
      {isStale.value && (
        <div>
          <button type="button" onClick={onReload}>
            {words.reload}
          </button>
        </div>
      )}
    </RecordForm>
  );
}
