import { Migration } from '@mikro-orm/migrations';

/** Sessions of browsers, and what their owner sees of each session. */
export class Migration202611221125BrowserSessions extends Migration {
  override up(): void {
    this.addSql(`
      alter table auth_session
        add column cookie_hash bytea,
        add column last_used_at timestamptz not null default now(),
        add column address text,
        add column user_agent text`);
    this.addSql(`
      create unique index auth_session_cookie on auth_session (cookie_hash) where cookie_hash is not null`);
  }
}
