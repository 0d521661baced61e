-- A decision or a vote on a human task that is as its caller has read it (`p_version`), with its entry of the
-- audit log: all of it in one statement, which is a transaction of its own.
--
-- `p_given` is the row of the decision or the vote. `p_status` is the task's new status; null: the vote
-- leaves the task open, and there is no `p_notice`. The others are those of `decide_human_task`. `p_once` has
-- what lets it happen once only: the id of a decision link (`link`), which is used up, and an
-- `Idempotency-Key` with the answer to keep (`answer`), whose `body` are the parts of its text between which
-- the time of the change belongs.
--
-- The result is when the task changed. It is null, and nothing was written, if the task has changed, has
-- expired, or was locked for long, if the run is over, if the key has an answer or another request has it,
-- and if the link is over: `lock_human_task` and single steps then say why.
create or replace function decide_at_once(
  p_run uuid, p_version text, p_given json, p_is_vote boolean, p_status text, p_audit json, p_events json,
  p_notice json, p_entry json, p_once json default null
) returns text
language plpgsql set enable_seqscan = off as $$
declare
  the_task uuid := (p_given ->> 'task_id')::uuid;
  held record;
  answer record;
  earlier record;
  changed timestamptz;
  result text;
begin
  if p_once -> 'answer' is not null then
    select * into answer
      from json_to_record(p_once -> 'answer')
             as r (user_id uuid, method text, path text, key text, fingerprint text, status int,
                   headers jsonb, body json);
    select * into earlier from claim_key(answer.user_id, answer.method, answer.path, answer.key);
    if not earlier.taken or earlier.fingerprint is not null then
      return null;
    end if;
  end if;
  select * into held from lock_human_task(p_run, the_task);
  if held.run_status is null or run_is_over(held.run_status) or held.late
     or held.version is distinct from p_version
     or (p_given ->> 'decided_at')::timestamptz < clock_timestamp() - interval '1 second' then
    return null;
  end if;
  if p_once ->> 'link' is not null then
    update decision_link set used_at = clock_timestamp()
     where id = (p_once ->> 'link')::uuid and used_at is null and void_at is null
       and expires_at > clock_timestamp();
    if not found then
      return null;
    end if;
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
    result := decide_human_task(p_run, p_given, p_status, p_audit, p_events, p_notice);
  else
    update hitl_task set updated_at = clock_timestamp() where id = the_task returning updated_at into changed;
    perform audit_and_append(p_run, p_audit, p_events);
    result := to_char(changed at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  end if;
  if p_once -> 'answer' is not null then
    perform keep_answer(
      answer.user_id, answer.method, answer.path, answer.key, answer.fingerprint, answer.status,
      answer.headers,
      array_to_string(array(select json_array_elements_text(answer.body)), result));
  end if;
  return result;
end $$;
