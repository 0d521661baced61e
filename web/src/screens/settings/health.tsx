import type { Readiness } from '../../../../client/index.ts';
import { useReadiness } from '../../data/readiness.ts';
import { mayCall } from '../../data/session.ts';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { LatestBackups } from './backups.tsx';
import css from './settings.module.css';
import { words } from './words.ts';

const READ_EVERY_MS = 10_000;

/** Whether the parts of the installation work. */
export function Health() {
  const { data, error, refetch } = useReadiness(READ_EVERY_MS);
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
      {mayCall('getLatestBackups') && <LatestBackups />}
    </>
  );
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
