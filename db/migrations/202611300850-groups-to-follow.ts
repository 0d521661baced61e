import { Migration } from '@mikro-orm/migrations';

/** Groups whose people are still to be given the roles in teams that the groups give: those behind an id. */
export class Migration202611300850GroupsToFollow extends Migration {
  override up(): void {
    this.addSql(`
      create table group_to_follow (
        group_name text primary key,
        after_id uuid not null,
        tried_at timestamptz not null default clock_timestamp()
      )`);
  }
}
