import { Migration } from '@mikro-orm/migrations';

/** Requests of a user in a minute, where a limit is configured. Losing it in a crash costs nothing, so it is not logged. */
export class Migration0007RateLimit extends Migration {
  override up(): void {
    this.addSql(`
create unlogged table request_count (
  user_id uuid not null,
  minute timestamptz not null,
  requests int not null,
  primary key (user_id, minute)
);
create index request_count_minute on request_count (minute);
`);
  }
}
