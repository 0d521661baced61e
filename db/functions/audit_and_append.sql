-- Writes entries of the audit of human tasks, and events of the run's log, as one statement.
create or replace function audit_and_append(p_run uuid, p_audit json, p_events json) returns jsonb
language plpgsql set enable_seqscan = off as $$
begin
  insert into hitl_audit (id, task_id, run_id, actor_id, actor_name, action, via, as_admin, data)
  select id, task_id, run_id, actor_id, actor_name, action, via, as_admin, data
    from json_to_recordset(p_audit)
           as r (id uuid, task_id uuid, run_id uuid, actor_id uuid, actor_name text, action text, via text,
                 as_admin boolean, data jsonb);
  return append_run_events(p_run, p_events, null, '{}');
end $$;
