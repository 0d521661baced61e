import { Migration } from '@mikro-orm/migrations';

/** Readers of pages of the log get a parameter more, with a default for copies of the release before. */
export class Migration202611292255LogPagesByBytes extends Migration {
  override up(): void {
    this.addSql('drop function if exists read_log(xid8, bigint, int)');
    this.addSql('drop function if exists events_after(uuid, int, text[], text, int)');
    this.addSql('drop function if exists events_before(uuid, int, int, text[], text, int)');
  }
}
