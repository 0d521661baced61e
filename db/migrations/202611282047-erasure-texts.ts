import { Migration } from '@mikro-orm/migrations';

/** Names in texts, and histories of runs in Temporal, at the erasure of a person's data (docs/privacy.md). */
export class Migration202611282047ErasureTexts extends Migration {
  override up(): void {
    this.addSql(`
      alter table erasure
        -- report or replace
        add column free_text text not null default 'report',
        -- What the search has found so far; no names.
        add column texts jsonb not null default '{}',
        add column histories_removed integer not null default 0`);
    this.addSql(`
      create table erasure_history (
        run_id uuid primary key,
        user_id uuid not null references erasure (user_id) on delete cascade,
        next_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql('create index erasure_history_user on erasure_history (user_id)');
    this.addSql('create index erasure_history_next on erasure_history (next_at)');
  }
}
