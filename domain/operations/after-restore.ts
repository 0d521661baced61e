/**
 * What a database needs after it was restored, because Temporal has its own memory of runs, and may have been
 * restored to an earlier time (docs/adr/0059-backups.md).
 */
import { TERMINAL_STATUSES } from '../../contracts/run-events.ts';
import { isNoneOf } from '../../db/sql.ts';

/**
 * SQL, in order:
 * - All signals of unfinished runs are sent again. A run drops those that it has applied.
 * - Listeners of unfinished runs that were closed open again if their run asks for them.
 * - The first process to start says which Temporal has the runs.
 * - The next pass of the reconciler asks Temporal for every run. It closes those that Temporal does not know
 *   with a runtime error, and starts those that had not started.
 * - Temporal is told of all schedules.
 * - Nobody pauses writes.
 */
export const AFTER_RESTORE: readonly string[] = [
  `update run_signal s set received_at = null, delivered_at = null, attempts = 0, next_at = clock_timestamp()
     from run r where r.id = s.run_id and ${isNoneOf('r.status', TERMINAL_STATUSES)}`,
  `update listener l set restored = true
     from run r where r.id = l.run_id and l.status = 'closed' and ${isNoneOf('r.status', TERMINAL_STATUSES)}`,
  `update maintenance set sweep_after = null, sweep_begun_at = null, temporal_namespace_id = null`,
  `update workflow_schedule set due_at = clock_timestamp(), told_generation = null`,
  `delete from write_pause`,
];

/** SQL, after all that: writes are paused until an operator ends it. */
export const PAUSED_AFTER_RESTORE = `insert into write_pause (holder, reason, until)
  values (gen_random_uuid(), 'it was restored from a backup', 'infinity')`;

/** Of the entry in the audit log. */
export const RESTORE_ACTION = 'restore_backup';
