/** What starts the workflow's runs, the clock or events, and what became of the last times. */
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';

import type { Schedule, UpdateScheduleRequest, Workflow } from '../../../../client/index.ts';
import { navigate } from '../../app/router.ts';
import { runAddress, runsAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { cache, useQuery } from '../../data/query.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import page from '../../ui/page.module.css';
import { detailOf, ProblemText } from '../../ui/problem.tsx';
import { exactTime } from '../../ui/time.ts';
import { complain, tell } from '../../ui/toasts.tsx';
import { words } from './words.ts';
import css from './workflow.module.css';

const SHOWN = 3;
const REFRESH_MS = 30_000;
const OVERLAPS = ['skip', 'buffer_one', 'allow'] as const;

export function ScheduleCard({ workflow }: { workflow: Workflow }) {
  const { id } = workflow;
  const { data, error, refetch } = useQuery<Schedule>({
    queryKey: ['schedule', id, workflow.revision],
    queryFn: ({ signal }) => client.call('getSchedule', { path: { id }, signal }),
    refetchInterval: REFRESH_MS,
  });
  if (error !== null && data === undefined) return <ProblemText error={error} retry={() => void refetch()} />;
  if (data === undefined) return null;
  return (
    <section class={`${page['part']} ${css['card']}`}>
      <h2>{words.schedule.title}</h2>
      <p>
        {words.schedule.times(data)} · <strong>{words.schedule.states[data.state]}</strong>
      </p>
      {(data.reason ?? data.note) !== null && <p class="muted">{data.reason ?? data.note}</p>}
      <Times schedule={data} />
      {data.can.includes('update') && (
        <Controls
          schedule={data}
          take={(next) => cache.setQueryData(['schedule', id, workflow.revision], next)}
        />
      )}
    </section>
  );
}

function Times({ schedule: { next, last } }: { schedule: Schedule }) {
  return (
    <>
      {next !== null && next.length > 0 && (
        <>
          <h3>{words.schedule.next}</h3>
          <ul>
            {next.slice(0, SHOWN).map((at) => (
              <li key={at}>
                <time dateTime={at}>{exactTime(at)}</time>
              </li>
            ))}
          </ul>
        </>
      )}
      {last.length > 0 && (
        <>
          <h3>{words.schedule.last}</h3>
          <ul>
            {last.slice(0, SHOWN).map(({ scheduled_at: at, outcome, run_id: runId, detail }) => (
              <li key={at}>
                {runId === null ? (
                  words.schedule.outcomes[outcome]
                ) : (
                  <a href={runAddress(runId)}>{words.schedule.outcomes[outcome]}</a>
                )}{' '}
                <time dateTime={at}>{exactTime(at)}</time>
                {detail !== null && <span class="muted"> {detail}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

const time = (title: string) => ({ type: 'string', format: 'date-time', title });
const backfillSchema = {
  type: 'object',
  required: ['from', 'to'],
  properties: { from: time(words.schedule.from), to: time(words.schedule.to) },
};

const startsSchema = {
  type: 'object',
  required: ['catch_up_seconds', 'jitter_seconds'],
  properties: {
    catch_up_seconds: {
      type: 'integer',
      minimum: 0,
      maximum: 604_800,
      title: words.schedule.catchUp,
      description: words.schedule.catchUpHelp,
    },
    jitter_seconds: {
      type: 'integer',
      minimum: 0,
      maximum: 3_600,
      title: words.schedule.jitter,
      description: words.schedule.jitterHelp,
    },
    note: { type: 'string', maxLength: 500, title: words.schedule.note },
  },
};

/** Events come when they come, and a run that follows another has no time before that has ended. */
const HAS_TIMES: ReadonlySet<Schedule['kind']> = new Set(['cron', 'every']);

function Backfill({ schedule: { workflow_id: id } }: { schedule: Schedule }) {
  return (
    <FormDialog
      id="backfill"
      button={words.schedule.backfill}
      title={words.schedule.backfillTitle}
      help={words.schedule.backfillHelp}
      submit={words.schedule.backfillStart}
      schema={backfillSchema}
      onSubmit={async ({ from, to }) => {
        const body = { from: String(from), to: String(to) };
        const starts = await client.call('backfillSchedule', { path: { id }, body });
        tell(words.schedule.backfilled(starts.length), {
          href: runsAddress({ workflow: id }),
          text: words.allRuns,
        });
      }}
    />
  );
}

async function startNow(path: { id: string }): Promise<void> {
  const run = await client.call('triggerSchedule', { path, body: {} });
  navigate(runAddress(run.id));
  tell(words.started(run.workflow_name));
}

interface StartsProps {
  schedule: Schedule;
  save: (body: UpdateScheduleRequest) => Promise<void>;
}

function Starts({ schedule: { catch_up_seconds, jitter_seconds, note }, save }: StartsProps) {
  return (
    <FormDialog
      id="schedule"
      button={words.schedule.edit}
      title={words.schedule.editTitle}
      submit={words.schedule.save}
      schema={startsSchema}
      values={{ catch_up_seconds, jitter_seconds, note }}
      onSubmit={save}
    />
  );
}

function Controls({ schedule, take }: { schedule: Schedule; take: (next: Schedule) => void }) {
  const id = useId();
  const isBusy = useSignal(false);
  const path = { id: schedule.workflow_id };
  const act = async (what: () => Promise<void>) => {
    isBusy.value = true;
    try {
      await what();
    } catch (error) {
      complain(detailOf(error));
    } finally {
      isBusy.value = false;
    }
  };
  const save = async (body: UpdateScheduleRequest) =>
    take(await client.call('updateSchedule', { path, body }));
  const change = (body: UpdateScheduleRequest) => act(() => save(body));
  const isPaused = schedule.paused_at !== null;
  return (
    <>
      <label for={id}>{words.schedule.overlap}</label>
      <select
        id={id}
        value={schedule.overlap}
        disabled={isBusy.value}
        onChange={(event) => {
          const overlap = OVERLAPS.find((one) => one === event.currentTarget.value);
          if (overlap !== undefined) void change({ overlap });
        }}
      >
        {OVERLAPS.map((one) => (
          <option key={one} value={one}>
            {words.schedule.overlaps[one]}
          </option>
        ))}
      </select>
      <div class={page['actions']}>
        <button type="button" disabled={isBusy.value} onClick={() => void change({ paused: !isPaused })}>
          {isPaused ? words.schedule.resume : words.schedule.pause}
        </button>
        <Starts schedule={schedule} save={save} />
        {schedule.can.includes('trigger') && (
          <button type="button" disabled={isBusy.value} onClick={() => void act(() => startNow(path))}>
            {words.schedule.trigger}
          </button>
        )}
        {schedule.can.includes('backfill') && HAS_TIMES.has(schedule.kind) && (
          <Backfill schedule={schedule} />
        )}
      </div>
    </>
  );
}
