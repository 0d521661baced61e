/** Reads the log of all runs in the order of its positions. */
import type { EventLevel } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Position } from './position.ts';

/** An event of a run, with what is needed of the run to judge and to show it. */
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
  workflow_id: string | null;
  workflow_name: string;
}

export interface LogPage {
  events: LogEvent[];
  /** The oldest transaction still open when the page was read: all that is older has been seen, if the page is not full. */
  oldestOpenTx: string;
  /** Open transactions hold back what is committed already: read again soon. */
  behind: boolean;
}

type Row = Omit<LogEvent, 'position'> & Position;

/**
 * Events after a position, oldest first, at most `limit`; `runsOf` keeps to one user's runs and to events of human tasks,
 * which others may see too.
 */
export async function readLog(em: EntityManager, after: Position, options: { limit: number; runsOf?: string | undefined }): Promise<LogPage> {
  // One statement: the snapshot that judges is the snapshot that is read. The last event is looked up by the end of the
  // index: asked whether there is any, the planner reads the table.
  const rows = await em.execute<(Row & { oldest: string; behind: boolean })[]>(
    `with now as materialized (
       select s.oldest, coalesce((select h.tx >= s.oldest from run_event h order by h.tx desc, h.gpos desc limit 1), false) as behind
         from (select pg_snapshot_xmin(pg_current_snapshot()) as oldest) s
     )
     select now.oldest::text as oldest, now.behind, p.*
       from now left join lateral (
         select e.tx::text as tx, e.gpos::text as gpos, e.run_id, e.seq, e.type, e.at, e.level, e.task, e.message, e.data,
                r.owner_id as run_owner_id, r.workflow_id, r.workflow_name
           from run_event e join run r on r.id = e.run_id
          where (e.tx, e.gpos) > (?::xid8, ?::bigint) and e.tx < now.oldest
            ${options.runsOf === undefined ? '' : `and (r.owner_id = ? or e.type like 'io.cadenza.hitl.%')`}
          order by e.tx, e.gpos limit ?
       ) p on true
      order by p.tx::bigint, p.gpos::bigint`,
    [after.tx, after.gpos, ...(options.runsOf === undefined ? [] : [options.runsOf]), options.limit],
  );
  const events = rows.filter((row) => row.run_id !== null).map((row): LogEvent => {
    const { tx, gpos, oldest: _oldest, behind: _behind, ...event } = row;
    return { ...event, at: new Date(event.at), position: { tx, gpos } };
  });
  return { events, oldestOpenTx: rows[0]?.oldest ?? after.tx, behind: rows[0]?.behind ?? false };
}

/** Where a reader starts who wants only what comes from now on. */
export async function currentPosition(em: EntityManager): Promise<Position> {
  const [row] = await em.execute<{ oldest: string }[]>('select pg_snapshot_xmin(pg_current_snapshot())::text as oldest');
  return { tx: row?.oldest ?? '0', gpos: '-1' };
}
