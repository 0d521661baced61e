/** Sends an event in by hand, such as to try a workflow that waits for it. */
import { useRef } from 'preact/hooks';

import type { CloudEvent } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { randomKey } from '../../data/random-key.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { tell } from '../../ui/toasts.tsx';
import { words } from './event-words.ts';

const schema = {
  type: 'object',
  required: ['type', 'source'],
  properties: {
    type: { type: 'string', title: words.sendType, description: words.sendTypeHelp, maxLength: 1_000 },
    source: { type: 'string', title: words.sendSource, description: words.sendSourceHelp, maxLength: 2_000 },
    subject: { type: 'string', title: words.subject, maxLength: 1_000 },
    id: { type: 'string', title: words.sendId, description: words.sendIdHelp, maxLength: 1_000 },
    data: { title: words.data },
  },
};

interface Props {
  held: { team_id?: string };
  onSent: () => Promise<void>;
}

export function SendEvent({ held, onSent }: Props) {
  // One event, also if it is sent again after a lost answer.
  const id = useRef(randomKey());
  const send = async (fields: Record<string, unknown>) => {
    // The form's schema is that of the request, but for the id, which may be left empty.
    const body = { specversion: '1.0', id: id.current, ...fields } as CloudEvent;
    const [accepted] = [await client.call('publishEvent', { query: held, body })].flat();
    id.current = randomKey();
    tell(accepted?.duplicate === true ? words.sentBefore(body.type) : words.sent(body.type));
    await onSent();
  };
  return (
    <FormDialog
      id="send-event"
      button={words.send}
      title={words.send}
      help={words.sendHelp}
      submit={words.sendIt}
      schema={schema}
      onSubmit={send}
    />
  );
}
