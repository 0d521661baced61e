import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/** Room for live runs that a count has granted to connections: see `has_run_room`. A crash forgets it. */
export class Migration202611300910RunRoom extends Migration {
  override up(): void {
    this.addSql(`
      create unlogged table live_run_room (
        holder_id uuid not null,
        stripe smallint not null,
        live_runs bigint not null,
        room bigint not null,
        granted_at timestamptz not null,
        primary key (holder_id, stripe)
      )`);
    this.addSql(readFunctionFile('forget_run_room').sql);
    const moved = 'old.owner_id is distinct from new.owner_id or old.team_id is distinct from new.team_id';
    this.addSql(`create or replace trigger run_moved after update of owner_id, team_id on run
      for each row when (${moved}) execute function forget_run_room()`);
    for (const table of ['user_account', 'team'])
      this.addSql(`create or replace trigger ${table}_quotas_changed after update of quotas on ${table}
        for each row when (old.quotas is distinct from new.quotas) execute function forget_run_room()`);
  }
}
