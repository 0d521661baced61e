import { Migration } from '@mikro-orm/migrations';

/** What users have chosen for themselves, such as saved views of the console: one JSON object each. */
export class Migration202611222241UserPreferences extends Migration {
  override up(): void {
    this.addSql(
      `create table user_preferences (
         user_id uuid primary key references user_account (id) on delete cascade,
         content jsonb not null,
         version integer not null)`,
    );
  }
}
