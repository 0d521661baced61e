/** What a language model remembers of the user's conversations: to read, to continue, to forget. */
import { useSignal } from '@preact/signals';

import type { Agent } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { cache, useQuery } from '../../data/query.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { ConversationMessages } from '../../ui/conversation/messages.tsx';
import { words as shared } from '../../ui/conversation/words.ts';
import page from '../../ui/page.module.css';
import css from './agents.module.css';
import { words } from './words.ts';

/** The API lists the newest first. */
const MAX_LISTED = 50;

export const hasSessions = ({ type, execution_type: kind }: Agent): boolean =>
  ['llm', 'vision'].includes(type) && [null, type, 'api'].includes(kind);

export function Conversations({ agent, onContinue }: { agent: Agent; onContinue: (id: string) => void }) {
  const deleting = useSignal<string | null>(null);
  const { data } = useQuery({
    queryKey: ['agent', agent.id, 'sessions'],
    queryFn: ({ signal }) =>
      client.call('listAgentSessions', {
        path: { id: agent.id },
        query: { limit: MAX_LISTED },
        signal,
      }),
  });
  if (data === undefined || data.length === 0) return null;
  return (
    <section class={page['part']}>
      <h2>{words.conversations}</h2>
      <ul class={css['skills']}>
        {data.map(({ session, messages }) => (
          <li key={session} class={css['skill']}>
            <Conversation agent={agent} session={session} messages={messages} />
            <div class={page['actions']}>
              <button type="button" onClick={() => onContinue(session)}>
                {shared.continueIt}
              </button>
              <button type="button" onClick={() => (deleting.value = session)}>
                {shared.forget}
              </button>
            </div>
          </li>
        ))}
      </ul>
      <Confirm
        title={deleting.value === null ? null : shared.forgetTitle(deleting.value)}
        text={shared.forgetText}
        act={shared.forget}
        onClose={() => (deleting.value = null)}
        onAct={async () => {
          const path = { id: agent.id, session: deleting.value ?? '' };
          await client.call('deleteAgentSession', { path });
          await cache.invalidateQueries({ queryKey: ['agent', agent.id, 'sessions'], exact: true });
        }}
      />
    </section>
  );
}

interface Shown {
  agent: Agent;
  session: string;
  messages: number;
}

function Conversation({ agent, session, messages }: Shown) {
  const isOpen = useSignal(false);
  return (
    <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        {session} <span class="muted">{words.messages(messages)}</span>
      </summary>
      {isOpen.value && (
        <ConversationMessages
          agentId={agent.id}
          session={session}
          queryKey={['agent', agent.id, 'sessions', session]}
        />
      )}
    </details>
  );
}
