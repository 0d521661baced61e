import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { Code } from '../../ui/code.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { Value } from '../../ui/value.tsx';
import { words } from './words.ts';

/** The card that other agents read. */
export function AgentCardView({ id }: { id: string }) {
  const { data: card, error } = useQuery({
    queryKey: ['agent', id, 'card'],
    queryFn: ({ signal }) => client.call('getAgentCard', { path: { agent_id: id }, signal }),
  });
  if (error !== null) return <ProblemText error={error} />;
  if (card === undefined) return <div aria-busy="true" />;
  return (
    <div class={page['parts']}>
      <p class="muted">
        {words.cardHelp} {words.cardAddress}: <code>{card.url}</code>
      </p>
      <Value value={card} label={words.views.card} />
      <Code label={words.views.card} text={JSON.stringify(card, null, 2)} />
    </div>
  );
}
