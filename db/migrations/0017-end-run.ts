import { Migration } from '@mikro-orm/migrations';

/**
 * The end of a run as one statement, as 0009 did for a step's beginning. Who waits for the end alone is told so by a
 * notification of its own. The column `temporal_run_id` is used by the code of before alone: the run's first event has it, without a
 * write of its own at each start.
 */
export class Migration0017EndRun extends Migration {
  override up(): void {
    this.addSql(`
create function end_run(p_run uuid, p_events json, p_acks uuid[], p_signal uuid,
                        p_status text, p_output json, p_error json, p_checkpoint json) returns jsonb
language plpgsql as $$
declare
  appended jsonb;
begin
  appended := append_run_events(p_run, p_events, null, p_acks, p_signal);
  if (appended ->> 'closed')::boolean then
    return appended;
  end if;
  update run set status = p_status, output = p_output, error = p_error, waiting_on = '[]', finished_at = clock_timestamp(),
                 started_at = coalesce(started_at, created_at)
   where id = p_run;
  -- What had started and did not finish ends with the run.
  update run_task set status = case p_status when 'faulted' then 'faulted' else 'cancelled' end, finished_at = clock_timestamp()
   where run_id = p_run and status in ('running', 'waiting', 'suspended');
  update run_signal set received_at = clock_timestamp() where run_id = p_run and received_at is null;
  if p_checkpoint is not null and p_status = 'faulted' then
    insert into run_checkpoint (run_id, state) values (p_run, p_checkpoint) on conflict do nothing;
  end if;
  perform pg_notify('run_event', p_run || ' ended');
  return appended;
end $$;

create function end_lone_run(p_run uuid, p_events json, p_acks uuid[], p_signal uuid,
                             p_status text, p_output json, p_error json, p_checkpoint json) returns jsonb
language plpgsql as $$
declare
  parent uuid;
begin
  select parent_run_id into parent from run where id = p_run for update;
  if parent is not null
     or exists (select from hitl_task where run_id = p_run and status in ('open', 'claimed'))
     or exists (select from run where parent_run_id = p_run and status not in ('cancelled', 'faulted', 'completed')) then
    return '{"lone": false}';
  end if;
  return end_run(p_run, p_events, p_acks, p_signal, p_status, p_output, p_error, p_checkpoint);
end $$;
`);
  }
}
