/** Gives a webhook another signing secret, as it was read: nobody else has done so meanwhile. */
import { useSignal } from '@preact/signals';

import type { Webhook } from '../../../../client/index.ts';
import { DEFAULT_FORMER_SECRET_SECONDS, MAX_FORMER_SECRET_SECONDS } from '../../../../contracts/webhooks.ts';
import { client } from '../../data/api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { TaggedForm } from '../../ui/tagged-form.tsx';
import { words } from './rotate-words.ts';

const HOUR_SECONDS = 3_600;

const schema = {
  type: 'object',
  required: ['former_secret_seconds'],
  properties: {
    former_secret_seconds: {
      title: words.former,
      default: DEFAULT_FORMER_SECRET_SECONDS,
      oneOf: [
        { const: 0, title: words.atOnce },
        { const: HOUR_SECONDS, title: words.hour },
        { const: DEFAULT_FORMER_SECRET_SECONDS, title: words.day },
        { const: MAX_FORMER_SECRET_SECONDS, title: words.week },
      ],
    },
  },
};

interface Props {
  webhook: Webhook;
  /** The secret is shown by what outlives the row. */
  onRotated: (secret: string) => Promise<void>;
}

export function RotateWebhook({ webhook: { id, url }, onRotated }: Props) {
  const isOpen = useSignal(false);
  const close = () => (isOpen.value = false);
  const path = { id };
  return (
    <>
      <button type="button" onClick={() => (isOpen.value = true)}>
        {words.rotate}
      </button>
      <Dialog open={isOpen.value} title={words.title} onClose={close}>
        <p class="muted">{words.text(url)}</p>
        {/* Of two rotations at once, the second would forget the secret of the first. */}
        <TaggedForm<Webhook>
          id={`rotate-${id}`}
          queryKey={['webhook-rotation', id]}
          read={(signal) => client.tagged('getWebhook', { path, signal })}
          schema={schema}
          valuesOf={() => ({})}
          submit={words.rotate}
          save={async ({ former_secret_seconds: seconds }, headers) => {
            const body = { former_secret_seconds: Number(seconds) };
            const rotated = await client.call('rotateWebhookSecret', { path, body, headers });
            await onRotated(rotated.secret);
          }}
          onClose={close}
        />
      </Dialog>
    </>
  );
}
