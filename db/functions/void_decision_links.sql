-- Trigger of human tasks and users: links to decisions end when the people of the task change, or the rights
-- of their person. Somebody who claims a task keeps the own link.
create or replace function void_decision_links() returns trigger
language plpgsql as $$
begin
  if tg_table_name = 'hitl_task' then
    update decision_link set void_at = clock_timestamp()
     where task_id = new.id and void_at is null
       and not (old.candidate_keys = new.candidate_keys and old.delegations = new.delegations
                and old.assignee_key is not distinct from new.assignee_key
                and user_id is not distinct from new.claimed_by);
  else
    update decision_link set void_at = clock_timestamp() where user_id = new.id and void_at is null;
  end if;
  return null;
end $$;
