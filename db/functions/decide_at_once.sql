-- A decision or a vote on a human task that is as its caller has read it (`p_version`), with its entry of the
-- audit log: all of it in one statement, which is a transaction of its own.
--
-- `p_given` is the row of the decision or the vote. `p_status` is the task's new status; null: the vote
-- leaves the task open, and there is no `p_notice`. The others are those of `decide_human_task`.
--
-- The result is when the task changed. It is null, and nothing was written, if the task has changed, has
-- expired, or was locked for long, and if the run is over: `lock_human_task` and single steps then say why.
create or replace function decide_at_once(
  p_run uuid, p_version text, p_given json, p_is_vote boolean, p_status text, p_audit json, p_events json,
  p_notice json, p_entry json
) returns text
language plpgsql set enable_seqscan = off as $$
declare
  the_task uuid := (p_given ->> 'task_id')::uuid;
  held record;
  changed timestamptz;
begin
  select * into held from lock_human_task(p_run, the_task);
  if held.run_status is null or run_is_over(held.run_status) or held.late
     or held.version is distinct from p_version
     or (p_given ->> 'decided_at')::timestamptz < clock_timestamp() - interval '1 second' then
    return null;
  end if;
  if p_is_vote then
    insert into hitl_vote (id, task_id, decision, payload, comment, voted_by, voted_at, via, as_admin,
                           in_place_of)
    select id, task_id, decision, payload, comment, decided_by, decided_at, via, as_admin, in_place_of
      from json_to_record(p_given)
             as r (id uuid, task_id uuid, decision text, payload json, comment text, decided_by uuid,
                   decided_at timestamptz, via text, as_admin boolean, in_place_of uuid);
  end if;
  insert into audit_entry (actor_id, actor_name, action, outcome, object_type, object_id, credential,
                           credential_id, via, address, user_agent, request_id, data)
  select actor_id, actor_name, action, outcome, object_type, object_id, credential, credential_id, via,
         address, user_agent, request_id, data::jsonb
    from json_to_record(p_entry)
           as r (actor_id uuid, actor_name text, action text, outcome text, object_type text, object_id text,
                 credential text, credential_id text, via text, address text, user_agent text,
                 request_id text, data text);
  if p_status is not null then
    return decide_human_task(p_run, p_given, p_status, p_audit, p_events, p_notice);
  end if;
  update hitl_task set updated_at = clock_timestamp() where id = the_task returning updated_at into changed;
  perform audit_and_append(p_run, p_audit, p_events);
  return to_char(changed at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
end $$;
