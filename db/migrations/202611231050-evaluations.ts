import { Migration } from '@mikro-orm/migrations';

/** Evaluations of agents: a data set, run against several versions (docs/evaluations.md). */
export class Migration202611231050Evaluations extends Migration {
  override up(): void {
    this.addSql(`
      create table evaluation (
        id uuid primary key,
        agent_id uuid not null references agent (id) on delete cascade,
        -- Who started it, and who its run belongs to.
        started_by uuid not null references user_account (id),
        name text,
        -- Null after the run was removed; what the evaluation has found stays.
        run_id uuid unique references run (id) on delete set null,
        status text not null default 'running'
          check (status in ('running', 'completed', 'faulted', 'cancelled')),
        -- The first one is what the others are compared with.
        versions text[] not null,
        -- {agent, version?, criteria?, pass?}
        judge json,
        -- Checks of every case.
        checks json not null,
        cases int not null,
        -- The figures of each version; null until the run has ended.
        report json,
        error json,
        created_at timestamptz not null default clock_timestamp(),
        finished_at timestamptz
      )`);
    this.addSql('create index evaluation_agent on evaluation (agent_id, id)');
    this.addSql('create index evaluation_started_by on evaluation (started_by)');
    this.addSql(`create index evaluation_running on evaluation (id) where status = 'running'`);
    this.addSql(`
      create table evaluation_case (
        evaluation_id uuid not null references evaluation (id) on delete cascade,
        -- From 0, in the order of the data set.
        number int not null,
        -- {id?, input, expected?, checks?, weight?}; large parts are removed when the results come.
        given json not null,
        -- One for each version, in their order; null until the run has ended.
        results json,
        -- What lists select by: failed, error, regressed, improved, differs.
        marks text[] not null default '{}',
        primary key (evaluation_id, number)
      )`);
  }
}
