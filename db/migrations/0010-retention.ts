import { Migration } from '@mikro-orm/migrations';

/** Finds runs by their end, and lets a run that was retried go before its retry does. */
export class Migration0010Retention extends Migration {
  override up(): void {
    this.addSql(`
create index run_finished on run (finished_at) where finished_at is not null;
alter table run drop constraint run_retry_of_fkey,
  add constraint run_retry_of_fkey foreign key (retry_of) references run (id) on delete set null;
`);
  }
}
