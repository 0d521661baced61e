import { Migration } from '@mikro-orm/migrations';

/**
 * A2A tasks. A task is a run of its agent: its events are the run's. `once_key` of a client's message: what a repeat of it has
 * too. The trigger follows the run's row, whoever changes it, in the same transaction: an event where the run begins or ends to
 * wait for people, the task's state, by which lists filter and sort, and the agent's question.
 */
export class Migration0008A2A extends Migration {
  override up(): void {
    this.addSql(`
create table a2a_task (
  id uuid primary key references run (id) on delete cascade,
  agent_id uuid not null references agent (id) on delete cascade,
  owner_id uuid not null references user_account (id),
  context_id text not null,
  state text not null default 'TASK_STATE_SUBMITTED',
  state_at timestamptz not null default clock_timestamp(),
  paused boolean not null default false,
  accepted_output_modes text[] not null default '{}',
  metadata json,
  created_at timestamptz not null default clock_timestamp()
);
create index a2a_task_list on a2a_task (agent_id, owner_id, state_at desc, id desc);
create index a2a_task_owner on a2a_task (owner_id, id desc);
create index a2a_task_context on a2a_task (context_id, agent_id);

create table a2a_message (
  id uuid primary key,
  task_id uuid not null references a2a_task (id) on delete cascade,
  agent_id uuid not null references agent (id) on delete cascade,
  owner_id uuid not null references user_account (id),
  once_key text,
  seq int not null,
  message json not null,
  created_at timestamptz not null default clock_timestamp()
);
create unique index a2a_message_once on a2a_message (owner_id, agent_id, once_key) where once_key is not null;
create index a2a_message_task on a2a_message (task_id, seq, id);
create index a2a_message_agent on a2a_message (agent_id);

create table a2a_push_config (
  task_id uuid not null references a2a_task (id) on delete cascade,
  id text not null,
  url text not null,
  token_encrypted text,
  auth_scheme text,
  auth_credentials_encrypted text,
  wire_version text not null,
  target_id uuid not null references delivery_target (id) on delete cascade,
  created_at timestamptz not null default clock_timestamp(),
  primary key (task_id, id)
);
create index a2a_push_config_target on a2a_push_config (target_id);

create function people_asked(status text, waiting_on jsonb) returns uuid[] language sql immutable as $$
  select coalesce(array_agg((w ->> 'id')::uuid order by w ->> 'id'), '{}')
    from jsonb_array_elements(waiting_on) w where status = 'waiting' and w ->> 'kind' = 'human' and w ->> 'id' is not null
$$;

create function a2a_state(status text, waits boolean, output json, error json) returns text language sql immutable as $$
  select case status
    when 'pending' then 'TASK_STATE_SUBMITTED'
    when 'waiting' then case when waits then 'TASK_STATE_INPUT_REQUIRED' else 'TASK_STATE_WORKING' end
    when 'cancelled' then 'TASK_STATE_CANCELED'
    -- Ended by a person's rejection: the output is the decision itself.
    when 'completed' then case when json_typeof(output) = 'object' and output ->> 'decision' = 'reject' and output ->> 'decided_by' is not null
      and output ->> 'decided_at' is not null then 'TASK_STATE_REJECTED' else 'TASK_STATE_COMPLETED' end
    -- Refused by a policy, a budget, or the workflow: the standard error \`authorization\`.
    when 'faulted' then case when error ->> 'type' ~ '/authorization/?$' then 'TASK_STATE_REJECTED' else 'TASK_STATE_FAILED' end
    else 'TASK_STATE_WORKING'
  end
$$;

create function a2a_question(p_task uuid, p_context text, p_asked uuid[]) returns json language sql as $$
  select json_build_object('messageId', gen_random_uuid(), 'contextId', p_context, 'taskId', p_task, 'role', 'ROLE_AGENT',
           'parts', coalesce(json_agg(p.part order by t.id, p.n), '[]'))
    from hitl_task t cross join lateral (values
      (1, json_build_object('mediaType', 'text/plain', 'text', concat_ws(E'\\n', t.title, nullif(t.description, ''),
         'Decisions: ' || (select string_agg(d ->> 'id', ', ' order by n) from jsonb_array_elements(t.decisions) with ordinality as e (d, n)) || '.'))),
      (2, json_build_object('mediaType', 'application/json', 'data', json_build_object(
         'type', 'hitl_request', 'id', t.id, 'name', t.task_name, 'title', t.title, 'description', t.description, 'subject', t.subject,
         'form_schema', t.form_schema, 'decisions', t.decisions, 'expires_at', t.expires_at)))) as p (n, part)
   where t.id = any(p_asked)
$$;

create function run_waits_for_people() returns trigger language plpgsql as $$
declare
  asked_before uuid[] := people_asked(old.status, old.waiting_on);
  asked uuid[] := people_asked(new.status, new.waiting_on);
  news boolean := asked <> asked_before and new.status not in ('cancelled', 'faulted', 'completed');
  task record;
begin
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
     set state = a2a_state(new.status, asked <> '{}', new.output, new.error), state_at = clock_timestamp(), paused = new.status = 'suspended'
   where t.id = new.id and (news or (t.state, t.paused) is distinct from (a2a_state(new.status, asked <> '{}', new.output, new.error), new.status = 'suspended'))
  returning t.* into task;
  if found and news and asked <> '{}' then
    insert into a2a_message (id, task_id, agent_id, owner_id, seq, message)
    values (gen_random_uuid(), task.id, task.agent_id, task.owner_id, new.last_seq, a2a_question(task.id, task.context_id, asked));
  end if;
  return new;
end $$;
create trigger run_waits_for_people before update of status, waiting_on on run for each row
  when (old.status is distinct from new.status or old.waiting_on is distinct from new.waiting_on)
  execute function run_waits_for_people();
`);
  }
}
