import { Migration } from '@mikro-orm/migrations';

/** A version that gets a share of an agent's calls, and figures of its versions (docs/canaries.md). */
export class Migration202611231105Canaries extends Migration {
  override up(): void {
    this.addSql(`
      create table agent_canary (
        agent_id uuid primary key references agent (id) on delete cascade,
        -- Takes calls while it is published.
        version text not null,
        percent numeric(5, 2) not null check (percent > 0 and percent <= 100),
        since timestamptz not null default clock_timestamp()
      )`);
    this.addSql(`create index run_task_agent on run_task (agent_id, started_at) where agent_id is not null`);
  }
}
