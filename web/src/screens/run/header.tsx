/** What run this is, what it waits for, why it failed, and what one can do about it. */
import type { Run } from '../../../../client/index.ts';
import { inboxAddress, runAddress } from '../../app/routes.ts';
import { personName } from '../../data/people.ts';
import { nowMs } from '../../ui/clock.ts';
import { StatusText } from '../../ui/status.tsx';
import { lengthText } from '../../ui/time.ts';
import { When } from '../../ui/when.tsx';
import { Actions } from './actions.tsx';
import css from './run.module.css';
import { words } from './words.ts';

export function Header({ run }: { run: Run }) {
  const end = run.finished_at === null ? nowMs.value : Date.parse(run.finished_at);
  return (
    <header class={css['header']}>
      <div class={css['heading']}>
        <h1>{run.workflow_name}</h1>
        <p class={css['facts']}>
          <StatusText status={run.status} />
          {run.workflow_revision !== null && <span>{words.revision(run.workflow_revision)}</span>}
          <span>
            {words.started} <When at={run.started_at ?? run.created_at} />
          </span>
          {run.started_at !== null && (
            <span class="number">{lengthText(end - Date.parse(run.started_at))}</span>
          )}
          <span>{words.by(personName(run.owner_id))}</span>
          {run.parent_run_id !== null && <a href={runAddress(run.parent_run_id)}>{words.parent}</a>}
          {run.retry_of !== null && <a href={runAddress(run.retry_of)}>{words.retryOf}</a>}
          {run.temporal.url !== null && <a href={run.temporal.url}>{words.temporal}</a>}
        </p>
      </div>
      <Actions run={run} />
    </header>
  );
}

/** More waits are counted only. */
const NAMED_WAITS = 3;

export function Waits({ run }: { run: Run }) {
  if (run.status !== 'waiting' || run.waiting_on.length === 0) return null;
  const named = run.waiting_on.slice(0, NAMED_WAITS);
  return (
    <p class={css['waits']}>
      {words.waitsFor}{' '}
      {named.map(({ kind, task, id }, index) => {
        const name = task.split('/').at(-1) ?? task;
        const text = words[`${kind === 'human' ? 'person' : kind}In`](name);
        return (
          <span key={task}>
            {index > 0 && ', '}
            {kind === 'human' && id !== undefined ? <a href={inboxAddress({ task: id })}>{text}</a> : text}
          </span>
        );
      })}{' '}
      {run.waiting_count > named.length && words.more(run.waiting_count - named.length)}
    </p>
  );
}

export function ProblemOf({ error }: { error: NonNullable<Run['error']> }) {
  return (
    <section class={css['fault']}>
      <h2>{error.title ?? words.error}</h2>
      <p>{error.detail ?? error.type}</p>
      {error.instance !== undefined && <code>{error.instance}</code>}
    </section>
  );
}
