/** What became of the data of a user, and another attempt at what Temporal has refused. */
import type { Erasure, User } from '../../../../../client/index.ts';
import { client } from '../../../data/api.ts';
import { cache, useQuery } from '../../../data/query.ts';
import page from '../../../ui/page.module.css';
import { ProblemText } from '../../../ui/problem.tsx';
import { EraseReport } from '../erase-report.tsx';
import { Removal } from '../removal.tsx';
import { words } from './user-words.ts';

/** How often the report is read anew while the work goes on. */
const LOOK_MS = 2_000;

export function UserErasure({ user: { id } }: { user: User }) {
  const queryKey = ['erasure', id];
  const {
    data: report,
    error,
    refetch,
  } = useQuery<Erasure>({
    queryKey,
    queryFn: () => client.call('getErasure', { path: { id } }),
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? LOOK_MS : false),
  });
  const refused = report?.histories.refused ?? 0;
  return (
    <section class={page['part']}>
      <h2>{words.erasure}</h2>
      {error !== null && <ProblemText error={error} retry={() => void refetch()} />}
      {report !== undefined && <EraseReport report={report} isWhole />}
      {refused > 0 && (
        <div class={page['actions']}>
          <Removal
            title={words.retryTitle}
            text={words.retryText(refused)}
            act={words.retry}
            onAct={async () => {
              cache.setQueryData(queryKey, await client.call('retryErasure', { path: { id } }));
            }}
          />
        </div>
      )}
    </section>
  );
}
