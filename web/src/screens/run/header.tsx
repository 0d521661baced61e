/** What run this is, what it waits for, why it failed, and what one can do about it. */
import { useMemo } from 'preact/hooks';

import { shortened } from '../../../../contracts/cut-text.ts';
import type { Run } from '../../../../client/index.ts';
import { inboxAddress, runAddress, settingsAddress } from '../../app/routes.ts';
import { personName } from '../../data/people.ts';
import { nowMs } from '../../ui/clock.ts';
import page from '../../ui/page.module.css';
import { marksOf } from '../../ui/run-facts.ts';
import { StatusText } from '../../ui/status.tsx';
import { exactTime, lengthText, roundLength } from '../../ui/time.ts';
import { When } from '../../ui/when.tsx';
import { Actions } from './actions.tsx';
import type { Step } from './fold-run.ts';
import css from './run.module.css';
import { words } from './words.ts';

/** A run that waited for more has them all in its input. */
const NAMED_EVENTS = 3;

interface Props {
  run: Run;
  /** Without its waits; null if it did not wait for long. */
  workedMs: number | null;
}

export function Header({ run, workedMs }: Props) {
  const end = run.finished_at === null ? nowMs.value : Date.parse(run.finished_at);
  return (
    <header class={page['head']}>
      <div class={page['heading']}>
        <h1>{run.workflow_name}</h1>
        <p class={page['facts']}>
          <StatusText status={run.status} />
          {run.workflow_revision !== null && <span>{words.revision(run.workflow_revision)}</span>}
          <span>
            {words.started} <When at={run.started_at ?? run.created_at} />
          </span>
          {run.started_at !== null && (
            <span class="number">
              {lengthText(end - Date.parse(run.started_at))}
              {workedMs !== null && ` ${words.work(lengthText(workedMs))}`}
            </span>
          )}
          {run.scheduled_at !== null && (
            <span>
              {words.scheduled} <time dateTime={run.scheduled_at}>{exactTime(run.scheduled_at)}</time>
            </span>
          )}
          <span>{words.by(personName(run.owner_id))}</span>
          {marksOf(run).map((mark) => (
            <code key={mark}>{mark}</code>
          ))}
          {run.started_by?.slice(0, NAMED_EVENTS).map((event) => (
            <a key={event} href={settingsAddress('events', { event })}>
              {words.startedBy}
            </a>
          ))}
          {run.parent_run_id !== null && <a href={runAddress(run.parent_run_id)}>{words.parent}</a>}
          {run.retry_of !== null && <a href={runAddress(run.retry_of)}>{words.retryOf}</a>}
          {run.temporal.url !== null && <a href={run.temporal.url}>{words.temporal}</a>}
          {run.trace_url !== null && <a href={run.trace_url}>{words.trace}</a>}
        </p>
      </div>
      <Actions run={run} />
    </header>
  );
}

/** More waits are counted only. */
const NAMED_WAITS = 3;

export function Waits({ run, steps }: { run: Run; steps: readonly Step[] }) {
  if (run.status !== 'waiting' || run.waiting_on.length === 0) return null;
  const named = run.waiting_on.slice(0, NAMED_WAITS);
  return (
    <p class={css['waits']}>
      {words.waitsFor}{' '}
      {named.map(({ kind, task, id, until, events }, index) => {
        const askedMs = steps.find(({ humanTaskId }) => humanTaskId === (id ?? ''))?.askedMs ?? null;
        const name = task.split('/').at(-1) ?? task;
        const text =
          kind === 'event'
            ? words.eventIn(name, events)
            : words[kind === 'human' ? 'personIn' : 'timerIn'](name);
        return (
          <span key={task}>
            {index > 0 && ', '}
            {kind === 'human' && id !== undefined ? <a href={inboxAddress({ task: id })}>{text}</a> : text}
            {askedMs !== null && `, ${words.since(roundLength(nowMs.value - askedMs))}`}
            {until !== undefined && (
              <>
                , {kind === 'human' && words.expires} <When at={until} />
              </>
            )}
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

/** More of it is in the view of the data. */
const SHOWN_RESULT = 160;

/** What came of a run, for those who look for nothing else. */
export function Result({ run: { id, output } }: { run: Run }) {
  // It can be large.
  const text = useMemo(
    () => (typeof output === 'string' ? output : JSON.stringify(output ?? null)),
    [output],
  );
  return (
    <p class={css['result']}>
      <strong>{words.result}</strong> <code>{shortened(text, SHOWN_RESULT)}</code>{' '}
      <a href={runAddress(id, { view: 'data' })}>{words.wholeResult}</a>
    </p>
  );
}
