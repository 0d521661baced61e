import { Migration } from '@mikro-orm/migrations';

/**
 * A status in the condition of an index makes each change of it write to all indexes of the table. Tasks that
 * wait for a child have a column of their own for that, so the end of a task changes only the row's page,
 * which keeps room for it. A task's agent comes into its row with the row. Usage is folded in the order of
 * time, which an index has already.
 */
export class Migration202611291040FewerIndexEntries extends Migration {
  override up(): void {
    this.addSql('drop index usage_record_fresh');
    this.addSql('drop function if exists append_run_events(uuid, json, jsonb, uuid[], boolean)');
    // At the end, because readers of tasks wait from here on.
    this.addSql('alter table run_task add column awaited_run_id uuid');
    this.addSql(
      `update run_task set awaited_run_id = child_run_id
        where child_run_id is not null and status in ('running', 'waiting')`,
    );
    this.addSql('drop index run_task_child');
    this.addSql('create index run_task_child on run_task (awaited_run_id) where awaited_run_id is not null');
    this.addSql('alter table run_task set (fillfactor = 80)');
  }
}
