import { Migration } from '@mikro-orm/migrations';

/** REST of A2A 0.3 has two dialects, and a GET does not say which: the one of the task's last message. */
export class Migration0010A2ADialect extends Migration {
  override up(): void {
    this.addSql(`alter table a2a_task add column proto_dialect boolean not null default true`);
  }
}
