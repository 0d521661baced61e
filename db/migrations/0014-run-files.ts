import { Migration } from '@mikro-orm/migrations';

/**
 * Which runs a file serves. `of_runs`: the platform stored it for a run (parts of messages, files that agents gave), so it goes with
 * the last run that it serves; what a user uploaded stays until they delete it. `file_fetch`: linked files that a run fetches before
 * its first task, `position` is the place in its input's `files`, `file_id` the id that the file gets.
 */
export class Migration0014RunFiles extends Migration {
  override up(): void {
    this.addSql(`
alter table file add column of_runs boolean not null default false;
create table run_file (
  run_id uuid not null references run (id) on delete cascade,
  file_id uuid not null references file (id) on delete cascade,
  primary key (run_id, file_id)
);
create index run_file_file on run_file (file_id);
create table file_fetch (
  run_id uuid not null references run (id) on delete cascade,
  position int not null,
  file_id uuid not null,
  url text not null,
  name text,
  media_type text,
  sha256 text,
  accepts text[] not null,
  primary key (run_id, position)
);
`);
  }
}
