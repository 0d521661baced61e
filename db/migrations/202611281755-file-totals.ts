import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/**
 * What the files of each user and team take, kept by a trigger: copies of the release before, which sum the
 * rows, keep it as well. The triggers lock the table, so no file comes between them and the first totals.
 */
export class Migration202611281755FileTotals extends Migration {
  override up(): void {
    this.addSql(`
      create table file_total (
        holder_id uuid not null,
        -- Each connection adds to one of them; they may be negative, their sum is not.
        stripe smallint not null,
        bytes bigint not null,
        files bigint not null,
        primary key (holder_id, stripe)
      ) with (fillfactor = 50)`);
    this.addSql(readFunctionFile('count_files').sql);
    this.addSql(`
      create trigger file_added after insert on file
        referencing new table as added
        for each statement execute function count_files()`);
    this.addSql(`
      create trigger file_removed after delete on file
        referencing old table as removed for each statement execute function count_files()`);
    this.addSql(`
      create trigger file_changed after update on file
        referencing old table as removed new table as added
        for each statement execute function count_files()`);
    this.addSql(`
      insert into file_total (holder_id, stripe, bytes, files)
      select holder_id, 0, sum(size), count(*) filter (where not of_runs) from file group by holder_id`);
  }
}
