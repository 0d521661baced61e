-- Ends a run that nobody else is concerned with: it has no parent, no open human task, and no child under
-- way that would end with it. Else it changes nothing, and the result is `{lone: false}`. `p_outcomes` and
-- `conflict` are as in `begin_invocation`.
create or replace function end_lone_run(
  p_run uuid, p_events json, p_acks uuid[], p_status text, p_task_status text, p_a2a_state text,
  p_output json, p_error json, p_checkpoint json, p_outcomes json
) returns jsonb
language plpgsql set enable_seqscan = off as $$
declare
  parent uuid;
begin
  select parent_run_id into parent from run where id = p_run for no key update;
  if parent is not null
     or exists (select from hitl_task where run_id = p_run and human_task_is_undecided(status))
     or exists (select from run
                 where parent_run_id = p_run and not run_is_over(status) and not detached) then
    return '{"lone": false}';
  end if;
  if p_outcomes is not null and not keep_outcomes(p_run, p_outcomes) then
    return jsonb_build_object(
      'closed', not exists (select from run where id = p_run and not run_is_over(status)), 'conflict', true);
  end if;
  return end_run(p_run, p_events, p_acks, p_status, p_task_status, p_a2a_state,
                 p_output, p_error, p_checkpoint);
end $$;
