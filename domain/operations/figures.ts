/** What the database says about how the platform is doing, for monitoring. Same figures from every copy of the API. */
import type { EntityManager } from '../../db/orm.ts';

export interface Figures {
  /** Runs that are kept, by status. */
  runs: Record<string, number>;
  /** Waiting for a decision: `open` and `claimed`. */
  humanTasks: Record<string, number>;
  humanTasksOverdue: number;
  /** Messages to webhooks and push receivers not yet delivered, and given up. */
  deliveries: { pending: number; failed: number };
  /** Seconds since the oldest delivery was due that nobody has taken up; 0 if there is none. */
  deliveryLagSeconds: number;
  /** Seconds since the oldest start or signal was due that Temporal has not received; 0 if there is none. */
  reconcilerLagSeconds: number;
}

interface LiveRow { open: number; claimed: number; overdue: number; pending: number; failed: number; delivery_lag: number; reconciler_lag: number }

/** By partial indexes, but for the runs, which an index-only scan counts. */
export async function readFigures(em: EntityManager): Promise<Figures> {
  const runs = await em.execute<{ status: string; count: number }[]>('select status, count(*)::int as count from run group by status');
  const [row] = await em.execute<LiveRow[]>(
    `select
       (select count(*)::int from hitl_task where status = 'open') as open,
       (select count(*)::int from hitl_task where status = 'claimed') as claimed,
       (select count(*)::int from hitl_task where status in ('open', 'claimed') and due_at < clock_timestamp()) as overdue,
       (select count(*)::int from delivery where status = 'pending') as pending,
       (select count(*)::int from delivery where status = 'failed') as failed,
       (select coalesce(greatest(extract(epoch from clock_timestamp() - min(due_at)), 0), 0)::float8 from delivery_target
         where active and due_at < clock_timestamp() and coalesce(leased_until, '-infinity') < clock_timestamp()) as delivery_lag,
       (select coalesce(greatest(extract(epoch from clock_timestamp() - least(
         (select min(next_at) from run_signal where received_at is null),
         (select min(next_start_at) from run where status = 'pending'))), 0), 0)::float8) as reconciler_lag`,
  );
  return {
    runs: Object.fromEntries(runs.map(({ status, count }) => [status, count])),
    humanTasks: { open: row?.open ?? 0, claimed: row?.claimed ?? 0 },
    humanTasksOverdue: row?.overdue ?? 0,
    deliveries: { pending: row?.pending ?? 0, failed: row?.failed ?? 0 },
    deliveryLagSeconds: row?.delivery_lag ?? 0,
    reconcilerLagSeconds: row?.reconciler_lag ?? 0,
  };
}
