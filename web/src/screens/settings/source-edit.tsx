/** Changes an event source. */
import { useSignal } from '@preact/signals';

import { ApiError, type EventSource } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { patchOf } from '../../ui/form-sections.ts';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordForm } from '../../ui/record-form.tsx';
import { words } from './event-words.ts';
import { sourceSchema } from './source-schema.ts';

interface Props {
  id: string;
  onSaved: () => Promise<void>;
}

export function SourceEdit({ id, onSaved }: Props) {
  const isOpen = useSignal(false);
  const close = () => (isOpen.value = false);
  return (
    <>
      <button type="button" onClick={() => (isOpen.value = true)}>
        {words.edit}
      </button>
      <Dialog open={isOpen.value} title={words.editSource} onClose={close}>
        <p class="muted">{words.sourcesHelp}</p>
        <Content
          id={id}
          onClose={close}
          onSaved={async () => {
            await onSaved();
            close();
          }}
        />
      </Dialog>
    </>
  );
}

interface Tagged {
  record: EventSource;
  etag: string | null;
}

function Content({ id, ...rest }: Props & { onClose: () => void }) {
  const { data, error, refetch } = useQuery<Tagged>({
    queryKey: ['event-source-edit', id],
    // The tag belongs to what the form began with, so it is read once for each opening.
    staleTime: Infinity,
    gcTime: 0,
    queryFn: ({ signal }) => client.tagged('getEventSource', { path: { id }, signal }),
  });
  if (error !== null) return <ProblemText error={error} retry={() => void refetch()} />;
  if (data === undefined) return <div aria-busy="true" />;
  return <Form key={data.etag} {...data} {...rest} onReload={() => void refetch()} />;
}

interface FormProps extends Tagged {
  onClose: () => void;
  onSaved: () => Promise<void>;
  onReload: () => void;
}

/** Who may send a source, and whom it is shared with, is not to come back from an old form. */
function Form({ record, etag, onClose, onSaved, onReload }: FormProps) {
  const isStale = useSignal(false);
  const { id, source, client_id, user_id, shared_with, description } = record;
  const values = { source, client_id, user_id, shared_with, description };
  const save = async (entered: Record<string, unknown>) => {
    const body = patchOf(entered, values);
    if (Object.keys(body).length === 0) {
      onClose();
      return;
    }
    const headers = etag === null ? {} : { 'if-match': etag };
    try {
      await client.call('updateEventSource', { path: { id }, body, headers });
    } catch (error) {
      isStale.value = error instanceof ApiError && error.status === 412;
      throw error;
    }
    await onSaved();
  };
  return (
    <RecordForm
      id={`source-${id}`}
      sections={[{ id: 'record', member: '', schema: sourceSchema, values }]}
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
