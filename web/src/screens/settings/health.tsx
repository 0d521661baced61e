import { ApiError, type Readiness } from '../../../../client/index.ts';
import { isRecord } from '../../../../contracts/is-record.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import css from './settings.module.css';
import { words } from './words.ts';

/** Whether the parts of the installation work. */
export function Health() {
  const { data, error, refetch } = useQuery<Readiness>({
    queryKey: ['readiness'],
    queryFn: readReadiness,
    staleTime: 0,
    refetchInterval: 10_000,
  });
  return (
    <>
      <p class="muted">{words.healthHelp}</p>
      {data === undefined && error === null && <div aria-busy="true" />}
      {data === undefined && error !== null && <ProblemText error={error} retry={() => void refetch()} />}
      {data !== undefined && <Checks readiness={data} />}
      <div class={page['actions']}>
        <button type="button" onClick={() => void refetch()}>
          {words.readAgain}
        </button>
      </div>
    </>
  );
}

/** A server that is down answers 503 with the same document. */
async function readReadiness(): Promise<Readiness> {
  try {
    return await client.call('getReadiness');
  } catch (error) {
    if (error instanceof ApiError && isRecord(error.problem['checks']))
      return error.problem as unknown as Readiness;
    throw error;
  }
}

function Checks({ readiness: { status, checks, problems = [] } }: { readiness: Readiness }) {
  return (
    <>
      <p role="status" class={status === 'ok' ? css['good'] : css['bad']}>
        {words.states[status]}
      </p>
      <dl class={css['facts']}>
        {Object.entries(checks).map(([name, state]) => (
          <>
            <dt key={name}>{words.checks[name] ?? name}</dt>
            <dd class={state === 'ok' ? css['good'] : css['bad']}>{state.replaceAll('_', ' ')}</dd>
          </>
        ))}
      </dl>
      <ul>
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </>
  );
}
