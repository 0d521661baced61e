/** Gives a webhook another signing secret, which is shown once. */
import { useSignal } from '@preact/signals';

import type { Webhook } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { Removal } from './removal.tsx';
import { words } from './rotate-words.ts';
import { ShownOnce } from './shown-once.tsx';
import { words as settingsWords } from './words.ts';

/** Standard Webhooks want 24 to 64. */
const SECRET_BYTES = 32;

interface Props {
  webhook: Webhook;
  reload: () => Promise<void>;
}

export function RotateWebhook({ webhook: { id, url }, reload }: Props) {
  const secret = useSignal<Record<string, string> | null>(null);
  return (
    <>
      <Removal
        title={words.title}
        text={words.text(url)}
        act={words.rotate}
        onAct={async () => {
          const made = newSigningSecret();
          await client.call('updateWebhook', { path: { id }, body: { secret: made } });
          secret.value = { [settingsWords.signingSecret]: made };
          await reload();
        }}
      />
      <ShownOnce values={secret.value} onClose={() => (secret.value = null)} />
    </>
  );
}

/** As the server makes them: `whsec_` and the bytes in base64. */
function newSigningSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
