import { Migration } from '@mikro-orm/migrations';

/** For the reconciler's look at what was received and not applied: few rows at any time, found by index. */
export class Migration0011UnappliedSignals extends Migration {
  override up(): void {
    this.addSql(`
create index hitl_decision_unapplied on hitl_decision (received_at) where applied_at is null;
create index run_task_child on run_task (child_run_id) where child_run_id is not null and status in ('running', 'waiting');
`);
  }
}
