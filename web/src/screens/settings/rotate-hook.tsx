/** Lets an inbound webhook take calls that are signed with another secret, beside the current one. */
import { useSignal } from '@preact/signals';

import type { InboundWebhook } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { TaggedForm } from '../../ui/tagged-form.tsx';
import { words } from './event-words.ts';

const schema = {
  type: 'object',
  required: ['secret'],
  properties: { secret: { type: 'string', title: words.secret, description: words.secretHelp } },
};

interface Props {
  id: string;
  onRotated: () => Promise<void>;
}

export function RotateHook({ id, onRotated }: Props) {
  const isOpen = useSignal(false);
  const close = () => (isOpen.value = false);
  const path = { id };
  return (
    <>
      <button type="button" onClick={() => (isOpen.value = true)}>
        {words.rotate}
      </button>
      <Dialog open={isOpen.value} title={words.rotateTitle} onClose={close}>
        <p class="muted">{words.rotateHelp}</p>
        {/* The former secret must be the one that is current now. */}
        <TaggedForm<InboundWebhook>
          id={`rotate-${id}`}
          queryKey={['hook-rotation', id]}
          read={(signal) => client.tagged('getHook', { path, signal })}
          schema={schema}
          valuesOf={() => ({})}
          submit={words.rotate}
          save={async ({ secret }, headers, { secret: former }) => {
            const body = { secret: String(secret), former_secret: former };
            await client.call('updateHook', { path, body, headers });
            await onRotated();
          }}
          onClose={close}
        />
      </Dialog>
    </>
  );
}
