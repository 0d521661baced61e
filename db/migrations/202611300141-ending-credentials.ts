import { Migration } from '@mikro-orm/migrations';

/** How many days before its end somebody was last told that a credential ends: 14, then 3. */
export class Migration202611300141EndingCredentials extends Migration {
  override up(): void {
    for (const table of ['access_token', 'auth_client', 'scim_token'])
      this.addSql(`alter table ${table} add column told_days int`);
    this.addSql('create index scim_token_expiry on scim_token (expires_at)');
  }
}
