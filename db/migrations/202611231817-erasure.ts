import { Migration } from '@mikro-orm/migrations';

/** Erasure of a person's data on request (docs/privacy.md). */
export class Migration202611231817Erasure extends Migration {
  override up(): void {
    this.addSql('alter table user_account add column erased_at timestamptz');
    this.addSql(`
      create table erasure (
        user_id uuid primary key references user_account (id),
        requested_by uuid references user_account (id),
        requested_at timestamptz not null default clock_timestamp(),
        -- keep or remove
        runs text not null,
        -- The names that are looked for; null once the work is done.
        former jsonb,
        step integer not null default 0,
        -- Where the step goes on.
        position text,
        removed jsonb not null default '{}',
        replaced jsonb not null default '{}',
        -- One that fails lets the others go first.
        tried_at timestamptz not null default clock_timestamp(),
        finished_at timestamptz
      )`);
    this.addSql('create index erasure_requested_by on erasure (requested_by)');
    this.addSql('create index erasure_open on erasure (tried_at) where finished_at is null');
  }
}
