/** What agents remember of one's conversations: to find, to read, to go on with, to forget. */
import { useSignal } from '@preact/signals';

import type { AgentSession } from '../../../../client/index.ts';
import { query } from '../../app/router.ts';
import { agentAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { ConversationMessages } from '../../ui/conversation/messages.tsx';
import { words as shared } from '../../ui/conversation/words.ts';
import { SearchField } from '../../ui/filters.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { When } from '../../ui/when.tsx';
import { words } from './conversation-words.ts';
import { Removal } from './removal.tsx';
import css from './settings.module.css';

export function ConversationsPart() {
  const { q = '' } = query.value;
  const list = usePages(['conversations', q], (cursor) =>
    client.page('listConversations', {
      query: { cursor: cursor ?? undefined, limit: 50, q: q === '' ? undefined : q },
    }),
  );
  return (
    <>
      <p class="muted">{words.help}</p>
      <search class={page['filters']}>
        <SearchField label={words.search} value={q} />
      </search>
      <ListState list={list} filter={q === '' ? '' : `“${q}”`} empty={<p>{words.none}</p>}>
        <ul class={css['talks']}>
          {list.items.value.map((one) => (
            <Conversation key={one.id} of={one} onForgotten={() => list.reload()} />
          ))}
        </ul>
      </ListState>
    </>
  );
}

function Conversation({ of, onForgotten }: { of: AgentSession; onForgotten: () => Promise<void> }) {
  const { agent_id: agentId, agent_name: agent, session, messages, updated_at: at } = of;
  const isOpen = useSignal(false);
  const forget = async () => {
    await client.call('deleteAgentSession', { path: { id: agentId, session } });
    await onForgotten();
  };
  return (
    <li>
      <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
        <summary>
          {session}{' '}
          <span class="muted">
            {words.facts(agent, messages)}, <When at={at} />
          </span>
        </summary>
        {isOpen.value && (
          <ConversationMessages
            agentId={agentId}
            session={session}
            queryKey={['conversation', agentId, session, at]}
          />
        )}
      </details>
      <div class={page['actions']}>
        <a href={agentAddress(agentId, { view: 'try', session })}>{shared.continueIt}</a>
        <Removal
          act={shared.forget}
          title={shared.forgetTitle(session)}
          text={shared.forgetText}
          onAct={forget}
        />
      </div>
    </li>
  );
}
