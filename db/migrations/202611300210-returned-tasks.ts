import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/** People whose accounts have ended, and whose human tasks the reconciler still has to give back. */
export class Migration202611300210ReturnedTasks extends Migration {
  override up(): void {
    this.addSql(`
      create table task_return (
        user_id uuid primary key references user_account (id) on delete cascade,
        after_id uuid,
        due_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql('create index task_return_due on task_return (due_at)');
    this.addSql(readFunctionFile('return_tasks').sql);
    this.addSql(`
      create trigger user_account_tasks after update of status on user_account for each row
        when (old.status = 'active' and new.status <> 'active') execute function return_tasks()`);
    this.addSql(`insert into task_return (user_id) select id from user_account where status <> 'active'`);
  }
}
