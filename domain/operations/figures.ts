/** Figures for monitoring, read from the database. Every API process reports the same ones. */
import { UNDECIDED } from '../../contracts/hitl.ts';
import { isOneOf } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { unsealedSeconds } from '../audit/seal.ts';
import { countEndingCredentials } from '../auth/ending-credentials.ts';
import { countUndecidable } from '../notifications/undecidable.ts';
import { countStuckRuns } from '../runs/stuck.ts';
import { readBackups, type Backups } from './backups.ts';
import { readDayFigures, type DayFigures } from './day-figures.ts';

export interface Figures {
  /** Stored runs by status. */
  runs: Record<string, number>;
  /** Runs whose workflow tasks fail repeatedly. */
  runsStuck: number;
  /** Agents whose circuit breaker is not closed. */
  circuitsOpen: number;
  /** Tasks that wait for a decision: `open` and `claimed`. */
  humanTasks: Record<string, number>;
  humanTasksOverdue: number;
  /** Open tasks that too few people may decide now, apart from admins. */
  humanTasksUndecidable: number;
  /** Messages to webhooks and push receivers that are pending, and that were given up. */
  deliveries: { pending: number; failed: number };
  /** How long the oldest due delivery has been waiting to be taken up, in seconds; 0 if none is due. */
  deliveryLagSeconds: number;
  /** How long the oldest due start or signal has not reached Temporal, in seconds; 0 if none is due. */
  reconcilerLagSeconds: number;
  /** How long the oldest event from outside has been waiting to be matched with listeners; 0 if none does. */
  inboundLagSeconds: number;
  /** How long the oldest mail or chat message has been due; 0 if none is. */
  notificationLagSeconds: number;
  /** How long the oldest entry of the audit log has been waiting for a seal; 0 if none does. */
  auditUnsealedSeconds: number;
  backups: Backups;
  /** Access tokens, machine clients and SCIM tokens that end within 3 days, by kind. */
  credentialsEnding: Record<string, number>;
  day: DayFigures;
}

interface LiveRow {
  open: number;
  claimed: number;
  overdue: number;
  circuits: number;
  pending: number;
  failed: number;
  delivery_lag: number;
  reconciler_lag: number;
  inbound_lag: number;
  notification_lag: number;
}

/**
 * Uses partial indexes; the runs are counted by an index-only scan.
 * @param labels the most workflows, and the most agents, that are named
 */
export async function readFigures(em: EntityManager, labels: number): Promise<Figures> {
  const runs = await em.execute<{ status: string; count: number }[]>(
    'select status, count(*)::int as count from run group by status',
  );
  const [row] = await em.execute<LiveRow[]>(
    `select
       (select count(*)::int from hitl_task where status = 'open') as open,
       (select count(*)::int from hitl_task where status = 'claimed') as claimed,
       (select count(*)::int from hitl_task
         where ${isOneOf('status', UNDECIDED)} and due_at < clock_timestamp()) as overdue,
       (select count(*)::int from agent_gate where circuit <> 'closed') as circuits,
       (select count(*)::int from delivery where status = 'pending') as pending,
       (select count(*)::int from delivery where status = 'failed') as failed,
       (select coalesce(greatest(extract(epoch from clock_timestamp() - min(due_at)), 0), 0)::float8
          from delivery_target
         where active and due_at < clock_timestamp()
           and coalesce(leased_until, '-infinity') < clock_timestamp()) as delivery_lag,
       (select coalesce(greatest(extract(epoch from clock_timestamp() - least(
         (select min(next_at) from run_signal where received_at is null),
         (select min(next_start_at) from run where status = 'pending'))), 0), 0)::float8) as reconciler_lag,
       (select coalesce(greatest(extract(epoch from clock_timestamp() - min(received_at)), 0), 0)::float8
          from inbound_event where matched_at is null) as inbound_lag,
       (select coalesce(greatest(extract(epoch from clock_timestamp() - min(due_at)), 0), 0)::float8
          from (select due_at from notification_delivery where status = 'pending'
                 union all select due_at from account_mail where status = 'pending') m) as notification_lag`,
  );
  const runsStuck = await countStuckRuns(em);
  return {
    day: await readDayFigures(em, labels),
    runsStuck,
    circuitsOpen: row?.circuits ?? 0,
    runs: Object.fromEntries(runs.map(({ status, count }) => [status, count])),
    humanTasks: { open: row?.open ?? 0, claimed: row?.claimed ?? 0 },
    humanTasksOverdue: row?.overdue ?? 0,
    humanTasksUndecidable: await countUndecidable(em),
    deliveries: { pending: row?.pending ?? 0, failed: row?.failed ?? 0 },
    deliveryLagSeconds: row?.delivery_lag ?? 0,
    reconcilerLagSeconds: row?.reconciler_lag ?? 0,
    inboundLagSeconds: row?.inbound_lag ?? 0,
    notificationLagSeconds: row?.notification_lag ?? 0,
    auditUnsealedSeconds: await unsealedSeconds(em),
    backups: await readBackups(em),
    credentialsEnding: await countEndingCredentials(em),
  };
}
