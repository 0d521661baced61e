/** Changes an event source: what it allows is not to come back from an old form. */
import { useSignal } from '@preact/signals';

import type { EventSource } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { TaggedForm } from '../../ui/tagged-form.tsx';
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
        <TaggedForm<EventSource>
          id={`source-${id}`}
          queryKey={['event-source-edit', id]}
          read={(signal) => client.tagged('getEventSource', { path: { id }, signal })}
          schema={sourceSchema}
          valuesOf={({ source, client_id, user_id, shared_with, description }) => ({
            source,
            client_id,
            user_id,
            shared_with,
            description,
          })}
          submit={words.save}
          save={async (body, headers) => {
            await client.call('updateEventSource', { path: { id }, body, headers });
            await onSaved();
          }}
          onClose={close}
        />
      </Dialog>
    </>
  );
}
