/**
 * Queries of runs, their tasks and their logs. All lists use keyset paging without OFFSET or COUNT; runs are
 * listed newest first, log entries oldest first unless they are read from the end.
 */
import { LOG_PAGE_BYTES, type ListView } from '../../db/large-fields.ts';
import { isUuid } from '../../contracts/uuid.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import type { RunStart } from '../../contracts/temporal.ts';
import { UNFINISHED_TASK_STATUSES } from '../../contracts/run-events.ts';
import { arrayLiteral, containsPattern, Conditions, isOneOf, type KeysetPage } from '../../db/sql.ts';
import { userIdOf, type Actor } from '../auth/actor.ts';
import { forbidden, notFound } from '../errors.ts';
import { seenBy } from '../auth/ownership.ts';
import { addCreationTimes } from './creation-times.ts';
import { maySeeInside, maySeeRun, runsSeenBy, shownTo } from './policy.ts';
import {
  LISTED_TASK_COLUMNS,
  listedRunColumns,
  RUN_COLUMNS,
  type AsJson,
  type EventRow,
  type ListedRunRow,
  type RunRow,
  type TaskRow,
} from './row.ts';
import { runStart, START_COLUMNS, type StartFacts } from './start.ts';

/** SQL: how long a task took, in milliseconds; null until it has finished. */
const TASK_MS = 'extract(epoch from finished_at - started_at) * 1000';
const EVENT_COLUMNS = 'seq, at, level, type, task, message, data';

export interface RunFilter {
  view?: ListView | undefined;
  status?: string[] | undefined;
  workflow_id?: string | undefined;
  agent_id?: string | undefined;
  parent_run_id?: string | undefined;
  created_after?: string | undefined;
  created_before?: string | undefined;
  /** Id of a user, or `me`. */
  owner_id?: string | undefined;
  team_id?: string | undefined;
  /** A tag of the run's workflow, if the actor can see that workflow. */
  tag?: string | undefined;
  /** Tags of the run itself, all of them. */
  run_tag?: string[] | undefined;
  /** Labels of the run, all of them. */
  label?: Record<string, string> | undefined;
  key?: string | undefined;
  q?: string | undefined;
}

/** The actor's runs (all runs for an admin), newest first. */
export async function listRuns(
  em: EntityManager,
  actor: Actor,
  filter: RunFilter,
  page: KeysetPage,
): Promise<ListedRunRow[]> {
  const where = new Conditions();
  const seen = runsSeenBy(actor, 'r');
  where.add(seen.sql, ...seen.values);
  if (filter.team_id) where.add('r.team_id = ?::uuid', filter.team_id);
  if (filter.status) where.add('r.status = any(?::text[])', arrayLiteral(filter.status));
  if (filter.owner_id) where.add('r.owner_id = ?::uuid', userIdOf(actor, filter.owner_id));
  if (filter.tag) {
    // A tag of somebody else's private workflow must not become known by trying.
    const known = seenBy(actor, 'w');
    where.add(
      `r.workflow_id = any(array(select w.id from workflow w where w.tags @> ?::text[] and ${known.sql}))`,
      arrayLiteral([filter.tag]),
      ...known.values,
    );
  }
  if (filter.run_tag) where.add(`r.tags @> ?::text[] and r.tags <> '{}'`, arrayLiteral(filter.run_tag));
  if (filter.label) where.add(`r.labels @> ?::jsonb and r.labels <> '{}'`, JSON.stringify(filter.label));
  if (filter.key !== undefined) where.add('r.key = ?', filter.key);
  if (filter.workflow_id) where.add('r.workflow_id = ?', filter.workflow_id);
  if (filter.agent_id) {
    where.add(
      `r.id in (select p.run_id from run_pin p where p.agent_id = ?
                union all select a.id from run a where a.agent_id = ?)`,
      filter.agent_id,
      filter.agent_id,
    );
  }
  if (filter.parent_run_id) where.add('r.parent_run_id = ?', filter.parent_run_id);
  await addCreationTimes(em, where, filter);
  if (filter.q && isUuid(filter.q)) where.add('r.id = ?', filter.q);
  else if (filter.q) where.add('r.workflow_name ilike ?', containsPattern(filter.q));
  if (page.after) where.add('r.id < ?', page.after);
  const runs = await em.execute<ListedRunRow[]>(
    `select ${listedRunColumns(filter.view)} from run r where ${where.sql} order by r.id desc limit ?`,
    [...where.values, page.limit],
  );
  return runs.map((run) => shownTo(actor, run));
}

const RUN = new Prepared(`select ${RUN_COLUMNS} from run r where r.id = ?`);

/** @throws not_found, also for another user's run */
export async function getRun(em: EntityManager, actor: Actor, id: string): Promise<RunRow> {
  const [run] = await RUN.execute<RunRow>(em, [id]);
  if (!run || !maySeeRun(actor, run)) throw notFound('run');
  return shownTo(actor, run);
}

/**
 * A run of which the actor sees what is inside it, too.
 * @throws not_found, also for another user's run; forbidden for a runner of its workflow
 */
export async function getRunInside(em: EntityManager, actor: Actor, id: string): Promise<RunRow> {
  const run = await getRun(em, actor, id);
  if (!maySeeInside(actor, run))
    throw forbidden('Its runners see the input, output and state of a run only.', 'inside_hidden');
  return run;
}

/** A run as lists have it. @throws not_found, also for another user's run */
export async function getListedRun(
  em: EntityManager,
  actor: Actor,
  id: string,
  view: ListView,
): Promise<ListedRunRow> {
  const [run] = await em.execute<ListedRunRow[]>(
    `select ${listedRunColumns(view)} from run r where r.id = ?`,
    [id],
  );
  if (!run || !maySeeRun(actor, run)) throw notFound('run');
  return shownTo(actor, run);
}

/** The tasks that started last, in the order of their start, and the end of the log. */
export interface RunTail {
  tasks: AsJson<TaskRow>[];
  events: AsJson<EventRow>[];
}

type TailRow = { [Name in keyof RunTail]: RunTail[Name] | null };

export interface TailLimits {
  tasks: number;
  events: number;
}

const TAIL_COLUMNS = `
  (select json_agg(t order by t.seq, t.reference)
     from (select ${LISTED_TASK_COLUMNS} from run_task
            where run_id = ? order by seq desc, reference desc limit ?) t) as tasks,
  (select json_agg(e order by e.seq)
     from (select ${EVENT_COLUMNS} from events_before(
       ?::uuid, null, 0, null, null, ?::int, ${LOG_PAGE_BYTES})) e) as events`;

const TAIL = new Prepared(`select ${TAIL_COLUMNS}`);

const tailOf = (row: TailRow | undefined): RunTail => ({
  tasks: row?.tasks ?? [],
  events: row?.events ?? [],
});

export async function readTail(em: EntityManager, runId: string, limits: TailLimits): Promise<RunTail> {
  const [row] = await TAIL.execute<TailRow>(em, [runId, limits.tasks, runId, limits.events]);
  return tailOf(row);
}

const WHOLE = new Prepared(`select ${RUN_COLUMNS}, ${TAIL_COLUMNS} from run r where r.id = ?`);

/** In one statement. @throws not_found, also for another user's run */
export async function getRunWithTail(
  em: EntityManager,
  actor: Actor,
  id: string,
  limits: TailLimits,
): Promise<{ run: RunRow; tail: RunTail }> {
  const values = [id, limits.tasks, id, limits.events, id];
  const [row] = await WHOLE.execute<RunRow & TailRow>(em, values);
  if (!row || !maySeeRun(actor, row)) throw notFound('run');
  return { run: shownTo(actor, row), tail: tailOf(row) };
}

const STARTED = new Prepared(
  `select ${RUN_COLUMNS}, ${START_COLUMNS}, ${TAIL_COLUMNS} from run r where r.id = ?`,
);

/**
 * A run that was just created, and what its workflow starts with, in one statement; `start` is null if the
 * run is not pending. @throws not_found, also for another user's run
 */
export async function getStartedRun(
  em: EntityManager,
  actor: Actor,
  id: string,
  limits: TailLimits,
): Promise<{ run: RunRow; tail: RunTail; start: RunStart | null }> {
  const values = [id, limits.tasks, id, limits.events, id];
  const [row] = await STARTED.execute<RunRow & StartFacts & TailRow>(em, values);
  if (!row || !maySeeRun(actor, row)) throw notFound('run');
  return {
    run: shownTo(actor, row),
    tail: tailOf(row),
    start: row.status === 'pending' ? runStart(row) : null,
  };
}

export interface TaskFilter {
  reference?: string | undefined;
  status?: string[] | undefined;
  /** Only tasks that started before this entry of the log; the newest come first. */
  before?: number | undefined;
}

/** Tasks in the order of their start; their sort key is the number of their `started` event. */
export async function listRunTasks(
  em: EntityManager,
  runId: string,
  { reference, status, before }: TaskFilter,
  page: KeysetPage<number>,
): Promise<TaskRow[]> {
  const where = new Conditions().add('run_id = ?', runId);
  if (reference !== undefined) where.add('reference = ?', reference);
  if (status !== undefined) where.add('status = any(?::text[])', arrayLiteral(status));
  const order = pageOfLog(where, { after: 0, before }, page.after);
  return em.execute<TaskRow[]>(
    `select ${LISTED_TASK_COLUMNS} from run_task where ${where.sql} order by ${order} limit ?`,
    [...where.values, page.limit],
  );
}

/** Limits `seq` to a page of a list, newest first if `before` is given. @returns the list's order */
function pageOfLog(
  where: Conditions,
  { after, before }: { after: number; before?: number | undefined },
  cursor: number | undefined,
): string {
  if (before === undefined) {
    where.add('seq > ?', cursor ?? after);
    return 'seq';
  }
  where.add('seq < ?', cursor ?? before).add('seq > ?', after);
  return 'seq desc';
}

/** All visits of a task. */
export interface TaskGroup {
  reference: string;
  /** Of its first visit. */
  seq: number;
  name: string;
  type: string;
  count: number;
  completed: number;
  faulted: number;
  cancelled: number;
  unfinished: number;
  last_visit: number;
  started_at: Date;
  finished_at: Date | null;
  /** The finished visit that took longest. */
  slowest_visit: number | null;
  slowest_ms: number | null;
  total_ms: number;
}

/** The tasks of a run, each with all its visits, in the order of their first start. */
export async function listTaskGroups(
  em: EntityManager,
  runId: string,
  page: KeysetPage<number>,
): Promise<TaskGroup[]> {
  const count = (status: string): string => `count(*) filter (where status = '${status}')::int as ${status}`;
  return em.execute<TaskGroup[]>(
    `select g.*, slowest.visit as slowest_visit, round(slowest.ms)::float8 as slowest_ms
       from (select run_id, reference, min(seq) as seq, max(name) as name, max(type) as type,
                    count(*)::int as count, ${count('completed')}, ${count('faulted')}, ${count('cancelled')},
                    count(*) filter (where ${isOneOf('status', UNFINISHED_TASK_STATUSES)})::int as unfinished,
                    max(visit) as last_visit, min(started_at) as started_at, max(finished_at) as finished_at,
                    coalesce(round(sum(${TASK_MS})), 0)::float8 as total_ms
               from run_task where run_id = ?
              group by run_id, reference having min(seq) > ?
              order by min(seq), reference limit ?) g
       left join lateral (
            select t.visit, ${TASK_MS} as ms from run_task t
             where t.run_id = g.run_id and t.reference = g.reference and t.finished_at is not null
             order by t.finished_at - t.started_at desc, t.visit limit 1) slowest on true
      order by g.seq, g.reference`,
    [runId, page.after ?? 0, page.limit],
  );
}

export interface TaskVisit extends TaskRow {
  /** `data` of the events that started and completed the task, as far as they exist. */
  started: Record<string, unknown> | null;
  completed: Record<string, unknown> | null;
}

/** One visit of a task, by default the last. @throws not_found */
export async function getRunTask(
  em: EntityManager,
  runId: string,
  reference: string,
  visit: number | undefined,
): Promise<TaskVisit> {
  const dataOf = (kind: string): string =>
    `log_data(t.run_id, t.reference || '#' || t.visit || ':${kind}') as ${kind}`;
  const where = new Conditions().add('t.run_id = ?', runId).add('t.reference = ?', reference);
  if (visit !== undefined) where.add('t.visit = ?', visit);
  const [task] = await em.execute<TaskVisit[]>(
    `select t.*, ${dataOf('started')}, ${dataOf('completed')}
       from run_task t where ${where.sql} order by t.visit desc limit 1`,
    where.values,
  );
  if (!task) throw notFound('task');
  return task;
}

export interface EventFilter {
  after: number;
  /** Only earlier entries; the newest come first. */
  before?: number | undefined;
  /** The last entry of the previous page. */
  cursor?: number | undefined;
  limit: number;
  /** Of messages and data; the page ends with the entry that reaches it. */
  bytes?: number;
  /** The levels to include. */
  levels?: string[] | undefined;
  task?: string | undefined;
}

const LATER = new Prepared(
  `select ${EVENT_COLUMNS}, is_full
     from events_after(?::uuid, ?::int, ?::text[], ?::text, ?::int, ?::bigint)
    order by seq`,
);
const EARLIER = new Prepared(
  `select ${EVENT_COLUMNS}, is_full
     from events_before(?::uuid, ?::int, ?::int, ?::text[], ?::text, ?::int, ?::bigint)
    order by seq desc`,
);

/** An entry in a page; with the last one, `is_full` says that the page ended by number or by size. */
export type PagedEvent = EventRow & { is_full: boolean };

/** Oldest first, or newest first before an entry; at most `limit`, and fewer if they are large. */
export async function listEvents(
  em: EntityManager,
  runId: string,
  filter: EventFilter,
): Promise<PagedEvent[]> {
  const { after, before, cursor, limit, bytes = LOG_PAGE_BYTES } = filter;
  const kept = [filter.levels ? arrayLiteral(filter.levels) : null, filter.task ?? null, limit, bytes];
  return before === undefined
    ? LATER.execute<PagedEvent>(em, [runId, cursor ?? after, ...kept])
    : EARLIER.execute<PagedEvent>(em, [runId, cursor ?? before, after, ...kept]);
}
