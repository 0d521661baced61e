/** A run: what happened, what it waits for, and what one can do about it. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

import type { LogEntry, Run } from '../../../../client/index.ts';
import { useKeys } from '../../app/keys.ts';
import { lazy } from '../../app/lazy.tsx';
import { listAddress } from '../../app/neighbours.tsx';
import { idTail, RecordPath } from '../../app/record-path.tsx';
import { navigate, query, setQuery } from '../../app/router.ts';
import { client } from '../../data/api.ts';
import { cache, useQuery } from '../../data/query.ts';
import { nowMs } from '../../ui/clock.ts';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordSkeleton } from '../../ui/record-skeleton.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { useTitle } from '../../ui/title.ts';
import { Data } from './data.tsx';
import { foldRun, type RunFold, type Step } from './fold-run.ts';
import { Header, ProblemOf, Result, Waits } from './header.tsx';
import { Inspector } from './inspector.tsx';
import { Log } from './log.tsx';
import { entriesOf } from './log-lines.ts';
import css from './run.module.css';
import { followRun, MAX_EVENTS, type RunStream } from './run-stream.ts';
import { useScrub, type Scrub } from './scrub.ts';
import { Scrubber } from './scrubber.tsx';
import { workedMs } from './stretches.ts';
import { Timeline } from './timeline.tsx';
import { words } from './words.ts';

const Picture = lazy(async () => (await import('./picture.tsx')).Picture);

const VIEWS = ['timeline', 'diagram', 'log', 'data'] as const;
type View = (typeof VIEWS)[number];

export function RunScreen({ id }: { id: string }) {
  const {
    data: run,
    error,
    refetch,
  } = useQuery<Run>({
    queryKey: ['run', id],
    queryFn: ({ signal }) => client.call('getRun', { path: { id }, signal }),
  });
  useTitle(words.document(run?.workflow_name ?? id));
  // The record says what waits and what one may do; each event may have changed it.
  const stream = useMemo(() => followRun(id, readSoon(id)), [id]);
  useEffect(() => () => stream.close(), [stream]);
  return (
    <div class={page['page']}>
      <RecordPath list="runs" id={id}>
        {run !== undefined && (
          <>
            {run.workflow_name} <code>{idTail(id)}</code>
          </>
        )}
      </RecordPath>
      {run !== undefined && <Loaded run={run} stream={stream} />}
      {run === undefined && error === null && <RecordSkeleton title={words.document(id)} />}
      {run === undefined && error !== null && (
        <>
          <h1 class="hidden-text">{words.document(id)}</h1>
          <ProblemText error={error} retry={() => void refetch()} />
        </>
      )}
    </div>
  );
}

/** A busy run changes many times a second, and its record is large. */
const READ_PAUSE_MS = 400;

function readSoon(id: string): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      void cache.invalidateQueries({ queryKey: ['run', id] });
    }, READ_PAUSE_MS);
  };
}

function Loaded({ run, stream }: { run: Run; stream: RunStream }) {
  const { after, events: all } = stream.log.value;
  const scrub = useScrub(after + 1, after + all.length);
  const events = useMemo(
    () => (scrub.isLive ? all : all.slice(0, Math.max(0, scrub.at - after))),
    [all, scrub.isLive, scrub.at],
  );
  const fold = useMemo(() => foldRun(events), [events]);
  const latest = events.at(-1);
  const endMs = run.finished_at === null ? nowMs.value : Date.parse(run.finished_at);
  const now = scrub.isLive || latest === undefined ? endMs : Date.parse(latest.at);
  // What is over is read from its start.
  const follows = useSignal(run.finished_at === null);
  const goLive = () => {
    follows.value = true;
    scrub.live();
  };
  useEffect(() => {
    if (run.last_seq > MAX_EVENTS) stream.startAfter(run.last_seq - MAX_EVENTS);
  }, [stream]);
  const view = currentView();
  useRunKeys(fold.steps, scrub, goLive);
  return (
    <>
      <Header run={run} workedMs={scrub.isLive ? workedMs(fold, endMs) : null} />
      <Waits run={run} steps={fold.steps} />
      {run.error !== null && <ProblemOf error={run.error} />}
      {run.status === 'completed' && view !== 'data' && <Result run={run} />}
      {stream.error.value !== null && <ProblemText error={stream.error.value} />}
      {after > 0 && (
        <p class={css['waits']} role="status">
          {words.earlier(after)}{' '}
          <button type="button" class="plain" onClick={() => stream.startAfter(0)}>
            {words.showAll}
          </button>
        </p>
      )}
      <Scrubber scrub={scrub} event={latest} status={fold.status} />
      <Tabs
        label={words.viewsLabel}
        tabs={VIEWS.map((one) => ({ id: one, label: words.views[one] }))}
        current={view}
        onChange={show}
      >
        {view === 'data' ? (
          <Data run={run} />
        ) : (
          <Steps
            run={run}
            events={events}
            fold={fold}
            nowMs={now}
            live={scrub.isLive ? stream.live : null}
            follows={follows}
            onEnd={goLive}
          />
        )}
      </Tabs>
    </>
  );
}

function currentView(): View {
  return VIEWS.find((one) => one === query.value['view']) ?? 'timeline';
}

function show(view: View): void {
  setQuery({ view: view === 'timeline' ? undefined : view }, 'replace');
}

/** @param key of a step; null for none */
function choose(key: string | null): void {
  setQuery({ step: key ?? undefined }, 'replace');
}

function useRunKeys(steps: readonly Step[], scrub: Scrub, goLive: () => void): void {
  const move = (by: number) => () => {
    const at = steps.findIndex(({ key }) => key === (query.value['step'] ?? null));
    const next = steps[Math.min(Math.max(at + by, 0), steps.length - 1)];
    if (next !== undefined) choose(next.key);
  };
  const toList = () => navigate(listAddress('runs'));
  useKeys(
    {
      ...Object.fromEntries(VIEWS.map((one, index) => [String(index + 1), () => show(one)])),
      // The timeline moves by its rows.
      ...(currentView() === 'timeline' ? {} : { j: move(1), k: move(-1) }),
      '.': goLive,
      ArrowLeft: () => scrub.move(-1),
      ArrowRight: () => scrub.move(1),
      u: toList,
      Escape: () => (query.value['step'] === undefined ? toList() : choose(null)),
    },
    {
      ...words.shortcuts,
      ...Object.fromEntries(VIEWS.map((one, index) => [String(index + 1), words.show(words.views[one])])),
    },
  );
}

interface StepsProps {
  run: Run;
  events: readonly LogEntry[];
  fold: RunFold;
  nowMs: number;
  /** Null while the run is shown as it was. */
  live: RunStream['live'] | null;
  /** Whether the log keeps its end in view. */
  follows: Signal<boolean>;
  onEnd: () => void;
}

/** A view of the steps, beside the one that is chosen. */
function Steps({ run, events, fold, nowMs, live, follows, onEnd }: StepsProps) {
  const view = currentView();
  const { steps } = fold;
  const chosen = query.value['step'] ?? null;
  const step = steps.find(({ key }) => key === chosen);
  return (
    <div class={css['body']} data-inspects={step !== undefined}>
      {view === 'timeline' && <Timeline fold={fold} nowMs={nowMs} chosen={chosen} onChoose={choose} />}
      {view === 'diagram' && <Picture run={run} steps={steps} chosen={step} onChoose={choose} />}
      {view === 'log' && (
        <Log
          events={events}
          steps={steps}
          step={step}
          follows={follows}
          onEnd={onEnd}
          onAll={() => choose(null)}
        />
      )}
      {step !== undefined && (
        <Inspector
          run={run}
          step={step}
          entries={entriesOf(events, step)}
          live={step.status === 'running' ? live?.value.get(step.key) : undefined}
          nowMs={nowMs}
          onClose={() => choose(null)}
        />
      )}
    </div>
  );
}
