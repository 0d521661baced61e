/** Reads the log of all runs in the order of its positions. */
import type { EventLevel } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import { LOG_PAGE_BYTES } from '../../db/large-fields.ts';
import { Prepared } from '../../db/prepared.ts';
import { Conditions } from '../../db/sql.ts';
import type { TraceTexts } from '../../tracing/context.ts';
import type { Condition } from '../auth/ownership.ts';
import { readTraces } from '../runs/traces.ts';
import type { Position } from './position.ts';

/** A run's event, with the fields of the run that access checks and presenters need. */
export interface LogEvent {
  position: Position;
  run_id: string;
  seq: number;
  type: string;
  at: Date;
  level: EventLevel;
  /** JSON pointer of the task, null for the run itself. */
  task: string | null;
  message: string;
  data: Record<string, unknown>;
  run_owner_id: string;
  run_team_id: string | null;
  /** Who started the run sees its inside only if this holds, or as a builder of its team. */
  run_is_open: boolean;
  /** A child: what it was given and has given is inside its parent. */
  run_is_child?: boolean;
  workflow_id: string | null;
  workflow_name: string;
  /** Of the run, if it is in one and this process records traces. */
  trace?: TraceTexts | undefined;
}

export interface LogPage {
  events: LogEvent[];
  /** By number or by size: other events may follow the last one. */
  isFull: boolean;
  /**
   * The oldest transaction that was open when the page was read. If the page is not full, the reader has seen
   * all earlier transactions.
   */
  oldestOpenTx: string;
  /** Open transactions hold back committed events: read again soon. */
  behind: boolean;
}

type Row = Omit<LogEvent, 'position'> & Position;

export interface LogFilter {
  /** Only the runs that this condition on `r` holds for, plus events of human tasks, which others see too. */
  runs?: Condition | undefined;
  run_id?: string | undefined;
  workflow_id?: string | undefined;
}

export interface LogPageLimits {
  limit: number;
  /** Of messages and data; the page ends with the event that reaches it. */
  bytes?: number;
}

type PageRow = Row & { oldest: string; behind: boolean; is_full: boolean | null };

const COLUMNS = `oldest, behind, tx, gpos, run_id, seq, type, at, level, task, message, data, run_owner_id,
  run_team_id, run_is_child, run_is_open, workflow_id, workflow_name, is_full`;

/** All runs' events, which a process reads again and again: SQL function `read_log`, with one plan. */
const READ_ALL = new Prepared(`select ${COLUMNS} from read_log(?::xid8, ?::bigint, ?::int, ?::bigint)`);

/** Events after a position, oldest first. */
export async function readLog(
  em: EntityManager,
  after: Position,
  { limit, bytes = LOG_PAGE_BYTES, ...filter }: LogFilter & LogPageLimits,
): Promise<LogPage> {
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const rows = isFiltered
    ? await readSome(em, after, { limit, bytes }, filter)
    : await READ_ALL.execute<PageRow>(em, [after.tx, after.gpos, limit, bytes]);
  const found = rows.filter((row) => row.run_id !== null);
  const traces = await readTraces(
    em,
    found.map((row) => row.run_id),
  );
  const events = found.map((row): LogEvent => {
    const { tx, gpos, oldest: _oldest, behind: _behind, is_full: _isFull, ...event } = row;
    return { ...event, at: new Date(event.at), position: { tx, gpos }, trace: traces.get(event.run_id) };
  });
  return {
    events,
    isFull: rows.at(-1)?.is_full ?? false,
    oldestOpenTx: rows[0]?.oldest ?? after.tx,
    behind: rows[0]?.behind ?? false,
  };
}

/**
 * The same with conditions that differ from reader to reader, so it is planned for each. One statement, so
 * that the oldest open transaction and the events come from one snapshot.
 */
function readSome(
  em: EntityManager,
  after: Position,
  { limit, bytes }: Required<LogPageLimits>,
  { runs, run_id: runId, workflow_id: workflowId }: LogFilter,
): Promise<PageRow[]> {
  const where = new Conditions().add('(e.tx, e.gpos) > (?::xid8, ?::bigint)', after.tx, after.gpos);
  if (runs !== undefined) where.add(`(${runs.sql} or e.type like 'io.cadenza.hitl.%')`, ...runs.values);
  if (runId !== undefined) where.add('e.run_id = ?', runId);
  if (workflowId !== undefined) where.add('r.workflow_id = ?', workflowId);
  return em.execute<PageRow[]>(
    `with now as materialized (
       select s.oldest, coalesce(newest_log_tx() >= s.oldest, false) as behind
         from (select oldest_open_transaction() as oldest) s
     )
     select now.oldest::text as oldest, now.behind, p.tx::text, p.gpos::text, p.run_id, p.seq, p.type, p.at,
            p.level, p.task, p.message, p.data, p.run_owner_id, p.run_team_id, p.run_is_child, p.run_is_open,
            p.workflow_id, p.workflow_name,
            p.nth = ?::int or p.stored_sum >= ?::bigint or p.size_sum >= ?::bigint as is_full
       from now left join lateral (
         select s.*, sum(s.size) over (order by s.tx, s.gpos rows unbounded preceding) as size_sum
           from (
             select l.*, octet_length(l.message) + octet_length(l.data::text) as size
               from (
                 select e.tx, e.gpos, e.run_id, e.seq, e.type, e.at, e.level, e.task, e.message, e.data,
                        r.owner_id as run_owner_id, r.team_id as run_team_id,
                        r.parent_run_id is not null as run_is_child,
                        not r.by_grant and r.team_id is null
                          or (r.parent_run_id is null or not r.by_grant)
                             and exists (
                               select from workflow w where w.id = r.workflow_id and w.visibility = 'public')
                          as run_is_open,
                        r.workflow_id, r.workflow_name, row_number() over page as nth,
                        pg_column_size(e.message) + pg_column_size(e.data) as stored,
                        sum(pg_column_size(e.message) + pg_column_size(e.data)) over page as stored_sum
                   from run_event e join run r on r.id = e.run_id
                  where ${where.sql} and e.tx < now.oldest
                 window page as (order by e.tx, e.gpos rows unbounded preceding)
                  order by e.tx, e.gpos limit ?
               ) l
              where l.stored_sum - l.stored < ?::bigint
           ) s
       ) p on p.size_sum - p.size < ?::bigint
      order by p.tx, p.gpos`,
    [limit, bytes, bytes, ...where.values, limit, bytes, bytes],
  );
}

/** The start of a reader that wants only events committed from now on. */
export interface LogStart {
  position: Position;
  /**
   * Whether the event was committed before the start. Transactions that are open at the start hold the
   * position back, so earlier events can follow it.
   */
  isBefore(event: Position): boolean;
}

export async function startOfNow(em: EntityManager): Promise<LogStart> {
  const [row] = await em.execute<{ snapshot: string; oldest: string }[]>(
    'select pg_current_snapshot()::text as snapshot, oldest_open_transaction()::text as oldest',
  );
  // PostgreSQL's text of a snapshot: xmin:xmax:the transactions in progress between them.
  const [, xmax = '0', inProgress = ''] = (row?.snapshot ?? '').split(':');
  const open = new Set(inProgress.split(','));
  return {
    position: { tx: row?.oldest ?? '0', gpos: '-1' },
    isBefore: ({ tx }) => BigInt(tx) < BigInt(xmax) && !open.has(tx),
  };
}
