/**
 * Runs and tasks that have ended, for their spans. A reader of the log of all runs, as deliveries are: so it
 * misses none, whoever ended them, and whichever process was killed.
 */
import { EVENT, TERMINAL_STATUSES } from '../../contracts/run-events.ts';
import { shortError } from '../../db/large-fields.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import type { TracedEvent } from '../events/event-trace.ts';
import { positionBefore, type Position } from '../events/position.ts';
import type { TaskVisitRef } from '../../tracing/span-ids.ts';

/** A run that has ended, in a trace. */
export interface EndedRun {
  run_id: string;
  traceparent: string;
  tracestate: string | null;
  /** Events that started it, but the first one, in whose trace it is. */
  heard: TracedEvent[] | null;
  workflow_id: string | null;
  workflow_name: string;
  status: string;
  error: unknown;
  retry_of: string | null;
  /** Of the run that it retries. */
  retried_traceparent: string | null;
  created_at: Date;
  finished_at: Date;
}

/** A visit of a task that has ended, in a trace. */
export interface EndedTask extends TaskVisitRef {
  run_id: string;
  traceparent: string;
  tracestate: string | null;
  /** Events that a `listen` task has taken. */
  heard: TracedEvent[] | null;
  name: string;
  type: string;
  status: string;
  attempt: number;
  agent_id: string | null;
  child_run_id: string | null;
  hitl_task_id: string | null;
  error: unknown;
  started_at: Date;
  finished_at: Date;
  /** The visit of the task around it; null: it is directly in the run. */
  around: TaskVisitRef | null;
  /** Of the request that decided the human task. */
  decision_traceparent: string | null;
}

export interface EndedSpans {
  runs: EndedRun[];
  tasks: EndedTask[];
  /** `more`: call again at once. `elsewhere`: another process reads. */
  state: 'more' | 'done' | 'elsewhere';
}

const CURSOR = 'traces';
/** Events of one pass. */
const BATCH = 500;
/** What is older when somebody begins to read is skipped: nobody looks for it, and it may be much. */
const OLDEST_MINUTES = 60;
/** Visits of one task that are looked at for the one around another task. */
const LOOKED_AT = 200;
/** Events to which a span is linked. */
const MAX_HEARD = 32;
/** Tasks that were cut off by the end of their run. */
const MAX_CUT_OFF = 1_000;

const HEARD = `json_build_object(
  'event', json_build_object('traceparent', i.event -> 'traceparent', 'tracestate', i.event -> 'tracestate'),
  'traceparent', i.traceparent, 'tracestate', i.tracestate)`;

const ENDS_TASK: string[] = [EVENT.taskCompleted, EVENT.taskFaulted, EVENT.taskCancelled];
const ENDS_RUN: string[] = [EVENT.runCompleted, EVENT.runFaulted, EVENT.runCancelled];

/** Call once before reading. */
export async function openTraceCursor(em: EntityManager): Promise<void> {
  await em.execute(
    `insert into delivery_cursor as c (name, tx, gpos)
     select ?, oldest_open_transaction(), -1
     on conflict (name) do update set tx = excluded.tx, gpos = -1
       where c.tx < excluded.tx
         and log_after(c.tx, c.gpos) < clock_timestamp() - ? * interval '1 minute'`,
    [CURSOR, OLDEST_MINUTES],
  );
}

/**
 * Moves on in the log. Record what it returns before the caller's transaction commits: after a crash it is
 * recorded again, with the same ids.
 */
export async function readEndedSpans(em: EntityManager): Promise<EndedSpans> {
  if (!(await hasNews(em))) return { runs: [], tasks: [], state: 'done' };
  const [cursor] = await em.execute<Position[]>(
    'select tx::text as tx, gpos::text as gpos from delivery_cursor where name = ? for update skip locked',
    [CURSOR],
  );
  if (!cursor) return { runs: [], tasks: [], state: 'elsewhere' };
  const { rows, oldest } = await readPage(em, cursor);
  const full = rows.length === BATCH;
  const last = full ? rows.at(-1) : undefined;
  const { tx, gpos } = last ?? positionBefore(oldest);
  await em.execute('update delivery_cursor set tx = ?::xid8, gpos = ?::bigint where name = ?', [
    tx,
    gpos,
    CURSOR,
  ]);
  const traced = rows.filter(({ traceparent }) => traceparent !== null);
  const ended = traced.filter(({ type }) => ENDS_RUN.includes(type)).map(({ run_id }) => run_id);
  const visits = traced.flatMap(({ run_id, type, task, visit }) =>
    ENDS_TASK.includes(type) && task !== null && visit !== null
      ? [{ run_id, reference: task, visit, around: placesAround(task) }]
      : [],
  );
  const runs = ended.length === 0 ? [] : await readRuns(em, ended);
  const tasks = [...(await readTasks(em, visits)), ...(await readCutOff(em, ended))];
  return { runs, tasks, state: full ? 'more' : 'done' };
}

/** Without a lock, so that workers that have nothing to do write nothing. */
async function hasNews(em: EntityManager): Promise<boolean> {
  const [row] = await em.execute<{ news: boolean }[]>(
    `select log_after(c.tx, c.gpos) is not null as news from delivery_cursor c where c.name = ?`,
    [CURSOR],
  );
  return row?.news === true;
}

interface PageRow extends Position {
  run_id: string;
  type: string;
  task: string | null;
  visit: number | null;
  traceparent: string | null;
}

async function readPage(em: EntityManager, after: Position): Promise<{ rows: PageRow[]; oldest: string }> {
  const rows = await em.execute<(PageRow & { oldest: string })[]>(
    `select oldest, tx, gpos, run_id, type, task, traceparent, visit
       from read_traced_log(?::xid8, ?::bigint, ?, ?::text[])`,
    [after.tx, after.gpos, BATCH, arrayLiteral(ENDS_TASK)],
  );
  return {
    rows: rows.filter((row) => row.run_id !== null),
    oldest: rows[0]?.oldest ?? after.tx,
  };
}

async function readRuns(em: EntityManager, ids: readonly string[]): Promise<EndedRun[]> {
  const rows = await em.execute<EndedRun[]>(
    `select r.id as run_id, r.traceparent, r.tracestate, r.workflow_id, r.workflow_name, r.status,
            ${shortError('r.error')} as error,
            r.retry_of, o.traceparent as retried_traceparent, r.created_at, r.finished_at,
            (select json_agg(${HEARD} order by s.nth)
               from unnest(r.started_by) with ordinality as s (id, nth) join inbound_event i on i.id = s.id
              where s.nth between 2 and ${MAX_HEARD}) as heard
       from run r left join run o on o.id = r.retry_of
      where r.id = any(?::uuid[]) and ${isOneOf('r.status', TERMINAL_STATUSES)}`,
    [arrayLiteral(ids)],
  );
  return rows.map(withTimes);
}

interface Visit extends TaskVisitRef {
  run_id: string;
  /** Pointers of what may be around it, innermost first. */
  around: string[];
}

const TASK_COLUMNS = `t.run_id, r.traceparent, r.tracestate, t.reference, t.visit,
  t.name, t.type, t.status, t.attempt,
  t.agent_id, t.child_run_id, t.hitl_task_id, ${shortError('t.error')} as error,
  t.started_at, t.finished_at,
  d.traceparent as decision_traceparent,
  case when t.type = 'listen' then (
    select json_agg(${HEARD} order by e.seq)
      from listener l join listener_event e on e.listener_id = l.id and e.seq <= ${MAX_HEARD}
           join inbound_event i on i.id = e.event_id
     where l.run_id = t.run_id and l.task_ref = t.reference and l.visit = t.visit) end as heard`;
const DECISION = 'left join hitl_decision d on d.task_id = t.hitl_task_id';

/**
 * The task around a visit began before it and ended after it, in the same items of `call: map`. An order of
 * visits alone would not tell: those of a fork or a map are mixed.
 */
async function readTasks(em: EntityManager, visits: readonly Visit[]): Promise<EndedTask[]> {
  if (visits.length === 0) return [];
  const rows = await em.execute<EndedTask[]>(
    `select ${TASK_COLUMNS},
            (select json_build_object('reference', a.reference, 'visit', a.visit)
               from json_array_elements_text(v.around) with ordinality as place (reference, nth),
                    lateral (select p.reference, p.visit
                               from (select p.* from run_task p
                                      where p.run_id = t.run_id and p.reference = place.reference
                                      order by p.visit desc limit ${LOOKED_AT}) p
                              where p.started_at <= t.started_at
                                and coalesce(p.finished_at, 'infinity') >= t.finished_at
                                and coalesce(p.items, '{}') = coalesce(
                                      t.items[1:coalesce(cardinality(p.items), 0)], '{}')
                              order by p.visit desc limit 1) a
              order by place.nth limit 1) as around
       from json_to_recordset(?::json) as v (run_id uuid, reference text, visit int, around json)
            join run r on r.id = v.run_id
            join run_task t on t.run_id = v.run_id and t.reference = v.reference and t.visit = v.visit
            ${DECISION}
      where t.finished_at is not null`,
    [JSON.stringify(visits)],
  );
  return rows.map(withTimes);
}

/** Tasks that ended because their run did, without an event. Others may be among them, if clocks differ. */
async function readCutOff(em: EntityManager, runIds: readonly string[]): Promise<EndedTask[]> {
  if (runIds.length === 0) return [];
  const rows = await em.execute<EndedTask[]>(
    `select ${TASK_COLUMNS}, null as around
       from run r join run_task t on t.run_id = r.id and t.finished_at >= r.finished_at ${DECISION}
      where r.id = any(?::uuid[]) and r.traceparent is not null
      limit ${MAX_CUT_OFF}`,
    [arrayLiteral(runIds)],
  );
  return rows.map(withTimes);
}

/** `/do/0/loop/for/do/1/call`: what is above it, `/do/0/loop` among others. */
function placesAround(reference: string): string[] {
  const parts = reference.split('/');
  return parts.slice(2).map((_part, index) => parts.slice(0, parts.length - 1 - index).join('/'));
}

function withTimes<T extends { finished_at: Date }>(row: T): T {
  const times = Object.entries(row).filter(([name, value]) => name.endsWith('_at') && value !== null);
  return { ...row, ...Object.fromEntries(times.map(([name, value]) => [name, new Date(String(value))])) };
}
