import { Migration } from '@mikro-orm/migrations';

/** The pause of writes while a backup is taken (docs/adr/0059-backups.md). It has one row at most. */
export class Migration202611231754WritePause extends Migration {
  override up(): void {
    this.addSql(`
      create table write_pause (
        single boolean primary key default true check (single),
        holder uuid not null,
        reason text not null,
        since timestamptz not null default clock_timestamp(),
        until timestamptz not null
      )`);
  }
}
