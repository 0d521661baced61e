import { Migration } from '@mikro-orm/migrations';

/** What a user hands over to another follows in batches. */
export class Migration202611281721Transfers extends Migration {
  override up(): void {
    this.addSql(`
      create table transfer (
        from_id uuid primary key references user_account (id),
        to_id uuid not null references user_account (id),
        requested_by uuid not null references user_account (id),
        begun_at timestamptz not null default clock_timestamp(),
        -- Secrets with a new name, by their old ones.
        renamed jsonb not null default '{}',
        -- What is handed over so far, by kind.
        counts jsonb not null default '{}',
        step integer not null default 0,
        -- Where the step goes on.
        position uuid,
        -- One that fails lets the others go first.
        tried_at timestamptz not null default clock_timestamp(),
        finished_at timestamptz
      )`);
    this.addSql('create index transfer_to on transfer (to_id)');
    this.addSql('create index transfer_requested_by on transfer (requested_by)');
    this.addSql('create index transfer_open on transfer (tried_at) where finished_at is null');
    this.addSql('create index transfer_open_to on transfer (to_id) where finished_at is null');
  }
}
