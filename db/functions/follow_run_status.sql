-- What follows from a change of a run's status, or of what it waits for. If the run asks other people than
-- before, or nobody any more, its log gets `asked_event`. If the run is an A2A task, the task's row gets the
-- state by which lists filter and sort, and the agent's question if there is a new one. The caller has locked
-- the run. `p_asked_before` has the ids of the human tasks of before, in order; `p_projection` is the one of
-- `append_run_events`; `p_seq` is the event's number. The result is whether the event was added.
create or replace function follow_run_status(
  p_run uuid, p_asked_before uuid[], p_projection jsonb, p_seq int
) returns boolean
language plpgsql set enable_seqscan = off as $$
declare
  asked uuid[] := array(
    select id::uuid from jsonb_array_elements_text(p_projection -> 'asked') id order by id);
  news boolean := asked <> p_asked_before;
  new_state text := p_projection ->> 'a2a_state';
  new_paused boolean := (p_projection ->> 'paused')::boolean;
  task record;
begin
  if asked <> '{}' then
    -- Another state if all tasks ask for the same special thing, such as credentials.
    new_state := coalesce(
      (select p_projection -> 'a2a_state_by_subject' ->> min(t.subject ->> 'type')
         from hitl_task t where t.id = any(asked)
       having count(distinct t.subject ->> 'type') = 1 and count(t.subject ->> 'type') = count(*)),
      new_state);
  end if;
  if news then
    insert into run_event (run_id, seq, key, type, at, level, message, data, tx)
    select p_run, p_seq, e.key, e.type, coalesce(last.at, clock_timestamp()), e.level, e.message, e.data,
           greatest(pg_current_xact_id(), last.tx)
      from jsonb_to_record(p_projection -> 'asked_event')
             as e (key text, type text, level text, message text, data json)
      left join lateral (
        select at, tx from run_event where run_id = p_run order by seq desc limit 1) last on true;
  end if;
  update a2a_task t
     set state = new_state, state_at = clock_timestamp(), paused = new_paused
   where t.id = p_run
     and (news or (t.state, t.paused) is distinct from (new_state, new_paused))
  returning t.* into task;
  if found and news and asked <> '{}' then
    insert into a2a_message (id, task_id, agent_id, owner_id, seq, asked)
    values (gen_random_uuid(), task.id, task.agent_id, task.owner_id, p_seq, asked);
  end if;
  return news;
end $$;
