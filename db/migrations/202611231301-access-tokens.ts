import { Migration } from '@mikro-orm/migrations';

/** Personal access tokens, and scopes of machine clients and of OAuth clients' sessions. */
export class Migration202611231301AccessTokens extends Migration {
  override up(): void {
    this.addSql(`
      create table access_token (
        id uuid not null primary key,
        user_id uuid not null references user_account on delete cascade,
        name text not null,
        token_hash bytea not null unique,
        hint text not null,
        scopes text[] not null,
        created_at timestamptz not null default clock_timestamp(),
        expires_at timestamptz not null,
        last_used_at timestamptz,
        last_address text
      )`);
    this.addSql(`create index access_token_user on access_token (user_id, id)`);
    this.addSql(`create index access_token_expiry on access_token (expires_at)`);
    this.addSql(`
      create trigger access_token_deleted after delete on access_token for each statement
        execute function notify_account_change()`);
    // Null: no fewer rights than the role.
    for (const table of ['auth_client', 'auth_session', 'oauth_code'])
      this.addSql(`alter table ${table} add column scopes text[]`);
  }
}
