import { Migration } from '@mikro-orm/migrations';

/**
 * Counts of runs by hour (docs/runs.md#statistics), which outlive the runs. What happens to a run is first a
 * row of `run_hour_change`, because starts and ends of one workflow would wait for each other at one row.
 */
export class Migration202611222250RunHours extends Migration {
  override up(): void {
    this.addSql(`
      create table run_hour (
        -- Of the runs. Not a foreign key, like the other records that outlive runs.
        owner_id uuid not null,
        workflow_id uuid,
        -- Its beginning.
        hour timestamptz not null,
        started int not null default 0,
        completed int not null default 0,
        faulted int not null default 0,
        cancelled int not null default 0,
        -- From start to end of the completed runs.
        total_ms bigint not null default 0,
        slowest_ms bigint,
        -- Of those that were created in this hour.
        last_run_id uuid,
        unique nulls not distinct (owner_id, workflow_id, hour)
      )`);
    this.addSql('create index run_hour_owner on run_hour (owner_id, hour)');
    this.addSql('create index run_hour_workflow on run_hour (workflow_id, hour)');
    this.addSql('create index run_hour_hour on run_hour (hour)');
    this.addSql(`
      create table run_hour_change (
        id bigint primary key generated always as identity,
        run_id uuid not null,
        owner_id uuid not null,
        workflow_id uuid,
        change text not null check (change in ('started', 'completed', 'faulted', 'cancelled')),
        at timestamptz not null,
        -- Of a completed run.
        length_ms bigint
      )`);
    this.addSql(`
      insert into run_hour (owner_id, workflow_id, hour, started, completed, faulted, cancelled, total_ms,
                            slowest_ms, last_run_id)
      select owner_id, workflow_id, date_trunc('hour', at, 'UTC'),
             count(*) filter (where change = 'started'),
             count(*) filter (where change = 'completed'),
             count(*) filter (where change = 'faulted'),
             count(*) filter (where change = 'cancelled'),
             coalesce(sum(length_ms), 0), max(length_ms),
             (array_agg(id order by id desc) filter (where change = 'started'))[1]
        from (select id, owner_id, workflow_id, 'started' as change, created_at as at,
                     null::bigint as length_ms
                from run
              union all
              select id, owner_id, workflow_id, status, finished_at,
                     case when status = 'completed' then
                       (extract(epoch from finished_at - coalesce(started_at, created_at)) * 1000)::bigint end
                from run where finished_at is not null and status in ('completed', 'faulted', 'cancelled')
             ) changes
       group by 1, 2, 3`);
  }
}
