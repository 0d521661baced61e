import { Migration } from '@mikro-orm/migrations';

/**
 * The last backups of `cadenza server backup`, and the one that is being taken, of which there is one at most
 * (docs/adr/0059-backups.md). A backup does not contain this table.
 */
export class Migration202611300150Backups extends Migration {
  override up(): void {
    this.addSql(`
      create table backup (
        id uuid primary key,
        status text not null check (status in ('running', 'complete', 'failed')),
        place text not null,
        started_at timestamptz not null default clock_timestamp(),
        ended_at timestamptz,
        leased_until timestamptz,
        bytes bigint,
        error text
      )`);
    this.addSql(`create unique index backup_running on backup (status) where status = 'running'`);
    this.addSql(`create index backup_started_at on backup (started_at)`);
  }
}
