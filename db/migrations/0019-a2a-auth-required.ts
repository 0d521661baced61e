import { Migration } from '@mikro-orm/migrations';

/**
 * A task of which all that it waits for are credentials is AUTH_REQUIRED: human tasks whose subject is
 * `{type: "credential_request", …}`. The rest of the trigger is that of 0008.
 */
export class Migration0019A2AAuthRequired extends Migration {
  override up(): void {
    this.addSql(`
create function asks_for_credentials(asked uuid[]) returns boolean language sql stable as $$
  select asked <> '{}' and not exists (
    select 1 from hitl_task t where t.id = any(asked) and (t.subject ->> 'type') is distinct from 'credential_request')
$$;

create or replace function run_waits_for_people() returns trigger language plpgsql as $$
declare
  asked_before uuid[] := people_asked(old.status, old.waiting_on);
  asked uuid[] := people_asked(new.status, new.waiting_on);
  news boolean := asked <> asked_before and new.status not in ('cancelled', 'faulted', 'completed');
  new_state text := a2a_state(new.status, asked <> '{}', new.output, new.error);
  task record;
begin
  if new_state = 'TASK_STATE_INPUT_REQUIRED' and asks_for_credentials(asked) then
    new_state := 'TASK_STATE_AUTH_REQUIRED';
  end if;
  if news then
    new.last_seq := new.last_seq + 1;
    insert into run_event (run_id, seq, key, type, at, level, message, data, tx)
    select new.id, new.last_seq, 'people:' || new.projection_counter,
           case when asked = '{}' then 'io.cadenza.workflow.input-received.v1' else 'io.cadenza.workflow.input-required.v1' end,
           coalesce(e.at, clock_timestamp()), 'info',
           case when asked = '{}' then 'The run waits for nobody any more' else 'The run waits for people' end,
           json_build_object('hitl_task_ids', asked), greatest(pg_current_xact_id(), e.tx)
      from (select 1) as one left join lateral (select at, tx from run_event where run_id = new.id order by seq desc limit 1) e on true;
    perform pg_notify('run_event', new.id::text);
  end if;
  update a2a_task t
     set state = new_state, state_at = clock_timestamp(), paused = new.status = 'suspended'
   where t.id = new.id and (news or (t.state, t.paused) is distinct from (new_state, new.status = 'suspended'))
  returning t.* into task;
  if found and news and asked <> '{}' then
    insert into a2a_message (id, task_id, agent_id, owner_id, seq, message)
    values (gen_random_uuid(), task.id, task.agent_id, task.owner_id, new.last_seq, a2a_question(task.id, task.context_id, asked));
  end if;
  return new;
end $$;
`);
  }
}
