-- The writes of a decision, as one statement: people and runs wait for them. The caller holds the locks
-- (`lock_human_task`). `p_status` is the task's new status, `p_notice` the signal to the run: its kind, and
-- its payload. The result is when the task changed.
create or replace function decide_human_task(
  p_run uuid, p_decision json, p_status text, p_audit json, p_events json, p_notice json
) returns text
language plpgsql set enable_seqscan = off as $$
declare
  changed timestamptz;
begin
  insert into hitl_decision (id, task_id, decision, payload, comment, decided_by, decided_at, via, as_admin,
                             traceparent)
  select id, task_id, decision, payload, comment, decided_by, decided_at, via, as_admin, traceparent
    from json_to_record(p_decision)
           as r (id uuid, task_id uuid, decision text, payload json, comment text, decided_by uuid,
                 decided_at timestamptz, via text, as_admin boolean, traceparent text);
  update hitl_task set status = p_status, updated_at = clock_timestamp()
   where id = (p_decision ->> 'task_id')::uuid
  returning updated_at into changed;
  perform audit_and_append(p_run, p_audit, p_events);
  -- The signal's id is the decision's. The run is locked, and was not over.
  insert into run_signal (id, run_id, kind, payload, by_id)
  values ((p_decision ->> 'id')::uuid, p_run, p_notice ->> 'kind', p_notice -> 'payload',
          (p_decision ->> 'decided_by')::uuid);
  return to_char(changed at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
end $$;
