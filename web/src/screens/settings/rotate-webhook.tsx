/** Gives a webhook another signing secret, which is shown once. */
import { useSignal } from '@preact/signals';

import type { Webhook } from '../../../../client/index.ts';
import { DEFAULT_FORMER_SECRET_SECONDS, MAX_FORMER_SECRET_SECONDS } from '../../../../contracts/webhooks.ts';
import { client } from '../../data/api.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { words } from './rotate-words.ts';
import { ShownOnce } from './shown-once.tsx';
import { words as settingsWords } from './words.ts';

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
  reload: () => Promise<void>;
}

export function RotateWebhook({ webhook: { id, url }, reload }: Props) {
  const secret = useSignal<Record<string, string> | null>(null);
  return (
    <>
      <FormDialog
        id={`rotate-${id}`}
        button={words.rotate}
        title={words.title}
        help={words.text(url)}
        submit={words.rotate}
        schema={schema}
        onSubmit={async ({ former_secret_seconds: seconds }) => {
          const body = { former_secret_seconds: Number(seconds) };
          const rotated = await client.call('rotateWebhookSecret', { path: { id }, body });
          secret.value = { [settingsWords.signingSecret]: rotated.secret };
          await reload();
        }}
      />
      <ShownOnce values={secret.value} onClose={() => (secret.value = null)} />
    </>
  );
}
