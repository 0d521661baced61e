import { Migration } from '@mikro-orm/migrations';

/** Indexes for human tasks by due time and by age; tasks without a due time come last. */
export class Migration202611222236TaskOrders extends Migration {
  override up(): void {
    const due = `coalesce(due_at, 'infinity')`;
    const undecided = `status in ('open', 'claimed')`;
    this.addSql(`create index hitl_task_queue_by_due on hitl_task ((${due}), id) where ${undecided}`);
    this.addSql(`create index hitl_task_queue_by_age on hitl_task (id) where ${undecided}`);
    this.addSql(`create index hitl_task_status_by_due on hitl_task (status, (${due}), id)`);
    this.addSql('create index hitl_task_status_by_age on hitl_task (status, id)');
  }
}
