import { Migration } from '@mikro-orm/migrations';

/** How often the key of a call has been claimed: only the last attempt may store the outcome. */
export class Migration202611232130Claims extends Migration {
  override up(): void {
    this.addSql('alter table invocation add column claims int not null default 1');
  }
}
