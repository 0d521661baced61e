import { Migration } from '@mikro-orm/migrations';

/** What definitions may run as processes, as the workers announce it at their start; null: the default. */
export class Migration202611230229ProcessPolicy extends Migration {
  override up(): void {
    this.addSql('alter table maintenance add column process_policy jsonb');
  }
}
