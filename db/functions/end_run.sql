-- Ends a run, as one statement: appends its last events, writes status, output or error, and ends what is
-- still open: tasks, signals, listeners, jobs. Adds the end to the statistics. `p_task_status` is for tasks that
-- have started and not finished, `p_a2a_state` for the A2A task that the run may be, `p_checkpoint` for a
-- retry of the run. Those who wait for the end alone get a notification of their own. The result names in
-- `calls_of` the agents whose calls the run was.
create or replace function end_run(
  p_run uuid, p_events json, p_acks uuid[], p_status text, p_task_status text, p_a2a_state text,
  p_output json, p_error json, p_checkpoint json
) returns jsonb
language plpgsql set enable_seqscan = off as $$
declare
  appended jsonb;
  ended record;
  calls_of jsonb;
begin
  appended := append_run_events(p_run, p_events, null, p_acks);
  if (appended ->> 'closed')::boolean then
    return appended;
  end if;
  update run
     set status = p_status, output = p_output, error = p_error, waiting_on = '[]', waiting_count = 0,
         finished_at = clock_timestamp(), started_at = coalesce(started_at, created_at)
   where id = p_run
  returning owner_id, workflow_id, finished_at, finished_at - started_at as length into ended;
  insert into run_hour_change (run_id, owner_id, workflow_id, change, at, length_ms)
  values (p_run, ended.owner_id, ended.workflow_id, p_status, ended.finished_at,
          case when p_status = 'completed' then (extract(epoch from ended.length) * 1000)::bigint end);
  update run_task set status = p_task_status, finished_at = clock_timestamp(), awaited_run_id = null
   where run_id = p_run and run_task_is_unfinished(status);
  update a2a_task set state = p_a2a_state, state_at = clock_timestamp(), paused = false
   where id = p_run and (state, paused) is distinct from (p_a2a_state, false);
  update run_signal set received_at = clock_timestamp() where run_id = p_run and received_at is null;
  -- A run closes its listeners itself, unless its execution was ended by force.
  with left_open as (
    update listener set status = 'closed' where run_id = p_run and status = 'open' returning id
  )
  delete from listener_key k using left_open where k.listener_id = left_open.id;
  update job set finished_at = clock_timestamp(), taken_at = clock_timestamp(), outcome = 'cancelled',
         input = null
   where run_id = p_run and finished_at is null;
  -- A call that waits for its turn is not made any more, and what it left to others ends with the run. Those
  -- under way give their turns back themselves.
  with gone as (
    delete from agent_turn where run_id = p_run and (state = 'waiting' or held_by is not null)
    returning agent_id, held_by
  )
  select jsonb_agg(agent_id) into calls_of from gone where held_by = 'run';
  delete from budget_question where run_id = p_run;
  delete from budget_wait where run_id = p_run;
  -- Of calls whose end nobody has seen.
  perform settle_budgets(p_run, null, null, null);
  if p_checkpoint is not null then
    insert into run_checkpoint (run_id, state) values (p_run, p_checkpoint) on conflict do nothing;
  end if;
  perform pg_notify('run_event', p_run || ' ended');
  return appended || jsonb_build_object('calls_of', calls_of);
end $$;
