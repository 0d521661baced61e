/** What was said in a conversation with a language model. */
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { ProblemText } from '../problem.tsx';
import css from './messages.module.css';
import { words } from './words.ts';

/** `queryKey`: where it is cached. */
export function ConversationMessages(of: { agentId: string; session: string; queryKey: unknown[] }) {
  const { agentId: id, session, queryKey } = of;
  const { data, error } = useQuery({
    queryKey,
    queryFn: ({ signal }) => client.call('getAgentSession', { path: { id, session }, signal }),
  });
  if (error !== null) return <ProblemText error={error} />;
  if (data === undefined) return <div aria-busy="true" />;
  return (
    <dl class={css['talk']}>
      {data.said.map(({ role, text }, index) => (
        <div key={index}>
          <dt>{words.roles[role]}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
