import { Migration } from '@mikro-orm/migrations';

/** Which items of `call: map` a task belongs to. */
export class Migration202611230150MapItems extends Migration {
  override up(): void {
    this.addSql('alter table run_task add column items integer[]');
  }
}
