import { Migration } from '@mikro-orm/migrations';

/** A restore marks listeners that were closed: the run may be from a time when they were open. */
export class Migration202611281800RestoredListeners extends Migration {
  override up(): void {
    this.addSql(`alter table listener add column restored boolean not null default false`);
  }
}
