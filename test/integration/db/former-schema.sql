-- A database as the 38 migrations of before the initial schema left it: pg_dump --schema-only of PostgreSQL 15,
-- then the rows that they had added.
CREATE FUNCTION public.a2a_question(p_task uuid, p_context text, p_asked uuid[]) RETURNS json
    LANGUAGE sql
    AS $$
  select json_build_object('messageId', gen_random_uuid(), 'contextId', p_context, 'taskId', p_task, 'role', 'ROLE_AGENT',
           'parts', coalesce(json_agg(p.part order by t.id, p.n), '[]'))
    from hitl_task t cross join lateral (values
      (1, json_build_object('mediaType', 'text/plain', 'text', concat_ws(E'\n', t.title, nullif(t.description, ''),
         'Decisions: ' || (select string_agg(d ->> 'id', ', ' order by n) from jsonb_array_elements(t.decisions) with ordinality as e (d, n)) || '.'))),
      (2, json_build_object('mediaType', 'application/json', 'data', json_build_object(
         'type', 'hitl_request', 'id', t.id, 'name', t.task_name, 'title', t.title, 'description', t.description, 'subject', t.subject,
         'form_schema', t.form_schema, 'decisions', t.decisions, 'expires_at', t.expires_at)))) as p (n, part)
   where t.id = any(p_asked)
$$;

CREATE FUNCTION public.a2a_state(status text, waits boolean, output json, error json) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $_$
  select case status
    when 'pending' then 'TASK_STATE_SUBMITTED'
    when 'waiting' then case when waits then 'TASK_STATE_INPUT_REQUIRED' else 'TASK_STATE_WORKING' end
    when 'cancelled' then 'TASK_STATE_CANCELED'
    -- Ended by a person's rejection: the output is the decision itself.
    when 'completed' then case when json_typeof(output) = 'object' and output ->> 'decision' = 'reject' and output ->> 'decided_by' is not null
      and output ->> 'decided_at' is not null then 'TASK_STATE_REJECTED' else 'TASK_STATE_COMPLETED' end
    -- Refused by a policy, a budget, or the workflow: the standard error `authorization`.
    when 'faulted' then case when error ->> 'type' ~ '/authorization/?$' then 'TASK_STATE_REJECTED' else 'TASK_STATE_FAILED' end
    else 'TASK_STATE_WORKING'
  end
$_$;

CREATE FUNCTION public.append_run_events(p_run uuid, p_events json, p_projection jsonb, p_acks uuid[], p_signal uuid) RETURNS jsonb
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare
  r record;
  added int := 0;
  tasks_added int := 0;
  tree jsonb;
  taken boolean := false;
  signalled int := 0;
  waits_before jsonb;
  waits_after jsonb;
begin
  select id, status, projection_counter, waiting_on, last_seq, parent_run_id, owner_id, root_run_id, task_count into r from run where id = p_run for no key update;
  if not found or r.status in ('cancelled', 'faulted', 'completed') then
    return '{"closed": true}';
  end if;

  if json_array_length(p_events) > 0 then
    with incoming as (
      select i.* from rows from (
        json_to_recordset(p_events) as (key text, type text, at timestamptz, level text, task text, message text, data json)
      ) with ordinality as i (key, type, at, level, task, message, data, ord)
    ), fresh as (
      select *, row_number() over (order by ord) as n from incoming i
       where not exists (select 1 from run_event e where e.run_id = p_run and e.key = i.key)
    ), inserted as (
      -- A run's events keep their order in the log of all runs too: a transaction that began before the one that wrote the
      -- event before, and got the run's lock after it, takes that one's place. No reader is past it while this one is open.
      insert into run_event (run_id, seq, key, type, at, level, task, message, data, tx)
      select p_run, r.last_seq + n, key, type, at, level, task, message, data,
             greatest(pg_current_xact_id(), (select e.tx from run_event e where e.run_id = p_run order by e.seq desc limit 1))
        from fresh order by n
      returning seq, type, at, task, data
    ), of_tasks as (
      select *, (data ->> 'visit')::int as visit,
             case type
               when 'io.serverlessworkflow.task.started.v1' then 'running'
               when 'io.serverlessworkflow.task.completed.v1' then 'completed'
               when 'io.serverlessworkflow.task.faulted.v1' then 'faulted'
               when 'io.serverlessworkflow.task.cancelled.v1' then 'cancelled'
               when 'io.cadenza.hitl.task-created.v1' then 'waiting'
               else 'running'
             end as status,
             type = 'io.serverlessworkflow.task.started.v1' as starts
        from inserted
       where task is not null and data ->> 'visit' is not null
         and type in ('io.serverlessworkflow.task.started.v1', 'io.serverlessworkflow.task.completed.v1',
                      'io.serverlessworkflow.task.faulted.v1', 'io.serverlessworkflow.task.cancelled.v1',
                      'io.cadenza.hitl.task-created.v1', 'io.cadenza.child.created.v1', 'io.cadenza.agent.pinned.v1')
    ), tasks as (
      insert into run_task as t (run_id, reference, visit, seq, name, type, status, attempt, started_at, finished_at,
                                 agent_id, agent_version, hitl_task_id, child_run_id, usage, error)
      select p_run, task, visit,
             coalesce(min(seq) filter (where starts), 0),
             coalesce(max(data ->> 'name') filter (where starts), ''),
             coalesce(max(data ->> 'type') filter (where starts), ''),
             (array_agg(status order by seq desc))[1],
             coalesce(max((data ->> 'attempt')::int) filter (where starts), 1),
             coalesce(max(at) filter (where starts), clock_timestamp()),
             max(at) filter (where status in ('completed', 'faulted', 'cancelled')),
             (array_agg(data ->> 'agent_id' order by seq desc) filter (where data ->> 'agent_id' is not null))[1]::uuid,
             (array_agg(data ->> 'agent_version' order by seq desc) filter (where data ->> 'agent_version' is not null))[1],
             (array_agg(data ->> 'hitl_task_id' order by seq desc) filter (where data ->> 'hitl_task_id' is not null))[1]::uuid,
             (array_agg(data ->> 'child_run_id' order by seq desc) filter (where data ->> 'child_run_id' is not null))[1]::uuid,
             (array_agg(data -> 'usage' order by seq desc) filter (where data ->> 'usage' is not null))[1]::jsonb,
             (array_agg(data -> 'error' order by seq desc) filter (where status = 'faulted'))[1]
        from of_tasks group by task, visit
      on conflict (run_id, reference, visit) do update set
        status = excluded.status,
        finished_at = coalesce(excluded.finished_at, t.finished_at),
        agent_id = coalesce(excluded.agent_id, t.agent_id),
        agent_version = coalesce(excluded.agent_version, t.agent_version),
        hitl_task_id = coalesce(excluded.hitl_task_id, t.hitl_task_id),
        child_run_id = coalesce(excluded.child_run_id, t.child_run_id),
        usage = coalesce(excluded.usage, t.usage),
        error = coalesce(excluded.error, t.error)
    ), used as (
      insert into usage_record (id, run_id, user_id, agent_id, agent_version, usage)
      select gen_random_uuid(), p_run, r.owner_id, (data ->> 'agent_id')::uuid, data ->> 'agent_version', (data -> 'usage')::jsonb
        from inserted where type = 'io.serverlessworkflow.task.completed.v1' and data ->> 'usage' is not null
    ), decided as (
      -- One statement: the second of two updates of a row within one is lost.
      update hitl_decision d
         set received_at = case when i.received then coalesce(d.received_at, clock_timestamp()) else d.received_at end,
             applied_at = case when i.applied then coalesce(d.applied_at, clock_timestamp()) else d.applied_at end
        from (select (data ->> 'decision_id')::uuid as id,
                     bool_or(type = 'io.cadenza.hitl.decision-received.v1') as received,
                     bool_or(type = 'io.cadenza.hitl.decision-applied.v1') as applied
                from inserted
               where type in ('io.cadenza.hitl.decision-received.v1', 'io.cadenza.hitl.decision-applied.v1')
               group by 1) i
       where d.id = i.id
    )
    select count(*), count(*) filter (where type = 'io.serverlessworkflow.task.started.v1') into added, tasks_added from inserted;
  end if;

  if cardinality(p_acks) > 0 then
    update run_signal set received_at = clock_timestamp() where id = any(p_acks) and received_at is null;
  end if;

  taken := p_projection is not null and (p_projection ->> 'counter')::bigint > r.projection_counter;
  if taken then
    update run set last_seq = r.last_seq + added, task_count = r.task_count + tasks_added, projection_counter = (p_projection ->> 'counter')::bigint,
                   status = p_projection ->> 'status', waiting_on = p_projection -> 'waiting_on',
                   waiting_count = coalesce((p_projection ->> 'waiting_count')::int, jsonb_array_length(p_projection -> 'waiting_on')),
                   started_at = coalesce(started_at, clock_timestamp())
     where id = p_run;
    if r.parent_run_id is not null then
      select coalesce(jsonb_agg(w), '[]') into waits_before
        from jsonb_array_elements(r.waiting_on) w where r.status = 'waiting' and w ->> 'kind' = 'human';
      select coalesce(jsonb_agg(w), '[]') into waits_after
        from jsonb_array_elements(p_projection -> 'waiting_on') w where p_projection ->> 'status' = 'waiting' and w ->> 'kind' = 'human';
      if waits_before <> waits_after then
        insert into run_signal (id, run_id, kind, payload)
        select p_signal, p.id, 'child.waiting',
               json_build_object('child_run_id', p_run, 'waiting_on', waits_after, 'counter', (p_projection ->> 'counter')::bigint)
          from run p where p.id = r.parent_run_id and p.status not in ('cancelled', 'faulted', 'completed');
        get diagnostics signalled = row_count;
      end if;
    end if;
  elsif added > 0 then
    update run set last_seq = r.last_seq + added, task_count = r.task_count + tasks_added where id = p_run;
  end if;

  if added > 0 then
    perform pg_notify('run_event', p_run::text);
  end if;
  if (r.last_seq + added) / 64 > r.last_seq / 64 or (r.task_count + tasks_added) / 64 > r.task_count / 64 then
    update run set tree_events = tree_events + 64 * ((r.last_seq + added) / 64 - r.last_seq / 64),
                   tree_tasks = tree_tasks + 64 * ((r.task_count + tasks_added) / 64 - r.task_count / 64)
     where id = r.root_run_id
    returning jsonb_build_object('root_run_id', id, 'events', tree_events, 'tasks', tree_tasks) into tree;
  end if;
  return jsonb_build_object('closed', false, 'signalled', signalled > 0, 'tree', tree);
end $$;

CREATE FUNCTION public.asks_for_credentials(asked uuid[]) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
  select asked <> '{}' and not exists (
    select 1 from hitl_task t where t.id = any(asked) and (t.subject ->> 'type') is distinct from 'credential_request')
$$;

CREATE FUNCTION public.audit_and_append(p_run uuid, p_audit json, p_events json, p_signal uuid) RETURNS jsonb
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
begin
  insert into hitl_audit (id, task_id, run_id, actor_id, actor_name, action, via, as_admin, data)
  select id, task_id, run_id, actor_id, actor_name, action, via, as_admin, data
    from json_to_recordset(p_audit) as r (id uuid, task_id uuid, run_id uuid, actor_id uuid, actor_name text, action text,
                                          via text, as_admin boolean, data jsonb);
  return append_run_events(p_run, p_events, null, '{}', p_signal);
end $$;

CREATE FUNCTION public.begin_invocation(p_run uuid, p_events json, p_projection jsonb, p_acks uuid[], p_signal uuid, p_key text, p_pin text, p_task text, p_visit integer) RETURNS json
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare
  appended jsonb;
  claimed_before boolean;
  earlier_result json;
  earlier_error json;
  pinned_agent uuid;
  pinned_version text;
  pinned_snapshot json;
  agent_status text;
begin
  appended := append_run_events(p_run, p_events, p_projection, p_acks, p_signal);
  if (appended ->> 'closed')::boolean then
    return appended::json;
  end if;
  insert into invocation (run_id, key) values (p_run, p_key) on conflict do nothing;
  claimed_before := not found;
  if claimed_before then
    select i.result, i.error into earlier_result, earlier_error from invocation i where i.run_id = p_run and i.key = p_key;
  end if;
  if p_pin is not null then
    select p.agent_id, p.version, p.snapshot into pinned_agent, pinned_version, pinned_snapshot
      from run_pin p where p.run_id = p_run and p.reference = p_pin;
    if found then
      update run_task set agent_id = pinned_agent, agent_version = pinned_version
       where run_id = p_run and reference = p_task and visit = p_visit;
      -- Status and visibility are read live: whose rights count is the workflow's owner, else who runs it.
      select case when a.visibility = 'public' or u.id = a.owner_id or 'admin' = any(u.roles) then a.status else 'invisible' end into agent_status
        from agent a, run r left join workflow w on w.id = r.workflow_id join user_account u on u.id = coalesce(w.owner_id, r.owner_id)
       where a.id = pinned_agent and r.id = p_run;
      -- Once a second at most, so that runs do not queue for one row.
      update agent set last_used = clock_timestamp()
       where id = pinned_agent and (last_used is null or last_used < clock_timestamp() - interval '1 second');
    end if;
  end if;
  -- json, not jsonb: keys of users' data keep their order.
  return json_build_object('closed', false, 'signalled', appended -> 'signalled', 'tree', appended -> 'tree', 'claimed_before', claimed_before,
                           'result', earlier_result, 'error', earlier_error, 'snapshot', pinned_snapshot, 'agent_status', agent_status);
end $$;

CREATE FUNCTION public.decide_human_task(p_run uuid, p_decision json, p_audit json, p_events json, p_signal uuid, p_notice json) RETURNS text
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare
  changed timestamptz;
begin
  insert into hitl_decision (id, task_id, decision, payload, comment, decided_by, decided_at, via, as_admin)
  select id, task_id, decision, payload, comment, decided_by, decided_at, via, as_admin
    from json_to_record(p_decision) as r (id uuid, task_id uuid, decision text, payload json, comment text, decided_by uuid,
                                          decided_at timestamptz, via text, as_admin boolean);
  update hitl_task set status = 'decided', updated_at = clock_timestamp() where id = (p_decision ->> 'task_id')::uuid
  returning updated_at into changed;
  perform audit_and_append(p_run, p_audit, p_events, p_signal);
  if p_notice is not null then
    -- The signal's id is the decision's. The run is locked, and was not over.
    insert into run_signal (id, run_id, kind, payload, by_id)
    values ((p_decision ->> 'id')::uuid, p_run, 'hitl.decision', p_notice, (p_decision ->> 'decided_by')::uuid);
  end if;
  return to_char(changed at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
end $$;

CREATE FUNCTION public.end_lone_run(p_run uuid, p_events json, p_acks uuid[], p_signal uuid, p_status text, p_output json, p_error json, p_checkpoint json) RETURNS jsonb
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare
  parent uuid;
begin
  select parent_run_id into parent from run where id = p_run for no key update;
  if parent is not null
     or exists (select from hitl_task where run_id = p_run and status in ('open', 'claimed'))
     or exists (select from run where parent_run_id = p_run and status not in ('cancelled', 'faulted', 'completed') and not detached) then
    return '{"lone": false}';
  end if;
  return end_run(p_run, p_events, p_acks, p_signal, p_status, p_output, p_error, p_checkpoint);
end $$;

CREATE FUNCTION public.end_run(p_run uuid, p_events json, p_acks uuid[], p_signal uuid, p_status text, p_output json, p_error json, p_checkpoint json) RETURNS jsonb
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare
  appended jsonb;
begin
  appended := append_run_events(p_run, p_events, null, p_acks, p_signal);
  if (appended ->> 'closed')::boolean then
    return appended;
  end if;
  update run set status = p_status, output = p_output, error = p_error, waiting_on = '[]', waiting_count = 0, finished_at = clock_timestamp(),
                 started_at = coalesce(started_at, created_at)
   where id = p_run;
  -- What had started and did not finish ends with the run.
  update run_task set status = case p_status when 'faulted' then 'faulted' else 'cancelled' end, finished_at = clock_timestamp()
   where run_id = p_run and status in ('running', 'waiting', 'suspended');
  update run_signal set received_at = clock_timestamp() where run_id = p_run and received_at is null;
  if p_checkpoint is not null and p_status = 'faulted' then
    insert into run_checkpoint (run_id, state) values (p_run, p_checkpoint) on conflict do nothing;
  end if;
  perform pg_notify('run_event', p_run || ' ended');
  return appended;
end $$;

CREATE FUNCTION public.hitl_audit_refuse() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception 'hitl_audit is append-only' using errcode = 'restrict_violation';
end
$$;

CREATE FUNCTION public.lock_human_task(p_run uuid, p_task uuid, OUT run_status text, OUT version text, OUT now text, OUT late boolean) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare
  expires timestamptz;
  at timestamptz;
begin
  select r.status into run_status from run r where r.id = p_run for no key update;
  select t.xmin::text, t.expires_at into version, expires from hitl_task t where t.id = p_task for no key update;
  -- The time after the waiting.
  at := clock_timestamp();
  now := to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  late := coalesce(expires <= at, false);
end $$;

CREATE FUNCTION public.notify_ended_call() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if tg_table_name = 'run' then
    perform pg_notify('ended_call', new.id::text);
  else
    perform pg_notify('ended_call', new.run_id::text);
  end if;
  return null;
end $$;

CREATE FUNCTION public.people_asked(status text, waiting_on jsonb) RETURNS uuid[]
    LANGUAGE sql IMMUTABLE
    AS $$
  select coalesce(array_agg((w ->> 'id')::uuid order by w ->> 'id'), '{}')
    from jsonb_array_elements(waiting_on) w where status = 'waiting' and w ->> 'kind' = 'human' and w ->> 'id' is not null
$$;

CREATE FUNCTION public.run_waits_for_people() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.semver_identifiers(dotted text) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    AS $_$
  select coalesce(array_agg(case when part ~ '^[0-9]+$' then '0' || lpad(length(ltrim(part, '0'))::text, 3, '0') || ltrim(part, '0')
                                 else '1' || part end order by place), '{}')
    from unnest(string_to_array(dotted, '.')) with ordinality as parts (part, place)
$_$;

CREATE FUNCTION public.semver_precedence(version text) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    AS $$
  select semver_identifiers(split_part(split_part(version, '+', 1), '-', 1))
      || case when split_part(version, '+', 1) like '%-%'
              then semver_identifiers(substring(split_part(version, '+', 1) from position('-' in version) + 1)) else array['~'] end
      || array['']
      || case when version like '%+%' then semver_identifiers(substring(version from position('+' in version) + 1)) else '{}' end
$$;

CREATE TABLE public.a2a_message (
    id uuid NOT NULL,
    task_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    once_key text,
    seq integer NOT NULL,
    message json NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.a2a_push_config (
    task_id uuid NOT NULL,
    id text NOT NULL,
    url text NOT NULL,
    token_encrypted text,
    auth_scheme text,
    auth_credentials_encrypted text,
    wire_version text NOT NULL,
    target_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.a2a_task (
    id uuid NOT NULL,
    agent_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    context_id text NOT NULL,
    state text DEFAULT 'TASK_STATE_SUBMITTED'::text NOT NULL,
    state_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    accepted_output_modes text[] DEFAULT '{}'::text[] NOT NULL,
    metadata json,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    proto_dialect boolean DEFAULT true NOT NULL
);

CREATE UNLOGGED TABLE public.address_request_count (
    address text NOT NULL,
    minute timestamp with time zone NOT NULL,
    requests integer NOT NULL
);

CREATE TABLE public.agent (
    id uuid NOT NULL,
    name text NOT NULL,
    description text,
    type text NOT NULL,
    execution_type text,
    status text DEFAULT 'active'::text NOT NULL,
    version text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    last_used timestamp with time zone,
    owner_id uuid NOT NULL,
    visibility text NOT NULL,
    documentation text,
    license text,
    repository_url text,
    configuration json,
    input_schema json,
    output_schema json,
    modalities text[],
    capabilities text[],
    url text,
    provider_name text,
    provider_url text,
    authentication_type text,
    authentication_config json,
    capabilities_streaming boolean DEFAULT false NOT NULL,
    capabilities_push boolean DEFAULT false NOT NULL,
    capabilities_history boolean DEFAULT false NOT NULL,
    tags text[],
    provenance jsonb,
    CONSTRAINT agent_status_check CHECK ((status = ANY (ARRAY['active'::text, 'inactive'::text, 'deprecated'::text]))),
    CONSTRAINT agent_visibility_check CHECK ((visibility = ANY (ARRAY['private'::text, 'public'::text])))
);

CREATE TABLE public.agent_skill (
    id uuid NOT NULL,
    agent_id uuid NOT NULL,
    name text NOT NULL,
    description text,
    tags text[],
    examples text[],
    input_modes text[],
    output_modes text[]
);

CREATE TABLE public.agent_version (
    id uuid NOT NULL,
    agent_id uuid NOT NULL,
    version text NOT NULL,
    configuration json NOT NULL,
    input_schema json NOT NULL,
    output_schema json NOT NULL,
    status text NOT NULL,
    changelog text,
    created_by uuid NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    precedence text[] GENERATED ALWAYS AS (public.semver_precedence(version)) STORED NOT NULL COLLATE pg_catalog."C",
    published_at timestamp with time zone,
    CONSTRAINT agent_version_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'published'::text, 'deprecated'::text])))
);

CREATE TABLE public.auth_client (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text NOT NULL,
    secret_hash text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used timestamp with time zone,
    expires_at timestamp with time zone DEFAULT (now() + '90 days'::interval) NOT NULL
);

CREATE TABLE public.auth_session (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone
);

CREATE TABLE public.delivery (
    id uuid NOT NULL,
    target_id uuid NOT NULL,
    ord bigint NOT NULL,
    message_id text NOT NULL,
    type text NOT NULL,
    run_id uuid,
    seq integer,
    part integer DEFAULT 0 NOT NULL,
    content_type text NOT NULL,
    body text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    attempt_log jsonb DEFAULT '[]'::jsonb NOT NULL,
    last_attempt_at timestamp with time zone,
    next_attempt_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    response_status integer,
    error text,
    redelivery_of uuid,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    delivered_at timestamp with time zone,
    CONSTRAINT delivery_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])))
);

CREATE TABLE public.delivery_cursor (
    name text NOT NULL,
    tx xid8 NOT NULL,
    gpos bigint NOT NULL
);

CREATE TABLE public.delivery_target (
    id uuid NOT NULL,
    kind text NOT NULL,
    owner_id uuid NOT NULL,
    run_id uuid,
    url text NOT NULL,
    types text[] DEFAULT '{}'::text[] NOT NULL,
    config json DEFAULT '{}'::json NOT NULL,
    active boolean DEFAULT true NOT NULL,
    disabled_reason text,
    disabled_at timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    last_ord bigint DEFAULT 0 NOT NULL,
    due_at timestamp with time zone,
    leased_until timestamp with time zone,
    from_tx xid8 DEFAULT pg_current_xact_id() NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.encryption_key (
    id text NOT NULL,
    first_used_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    runs_moved_at timestamp with time zone,
    rotation_started_at timestamp with time zone
);

CREATE TABLE public.file (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    name text NOT NULL,
    media_type text NOT NULL,
    size integer NOT NULL,
    sha256 text NOT NULL,
    visibility text DEFAULT 'private'::text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    of_runs boolean DEFAULT false NOT NULL,
    CONSTRAINT file_size_check CHECK ((size >= 0)),
    CONSTRAINT file_visibility_check CHECK ((visibility = ANY (ARRAY['private'::text, 'public'::text])))
);

CREATE TABLE public.file_fetch (
    run_id uuid NOT NULL,
    "position" integer NOT NULL,
    file_id uuid NOT NULL,
    url text NOT NULL,
    name text,
    media_type text,
    sha256 text,
    accepts text[] NOT NULL
);

CREATE TABLE public.hitl_audit (
    id uuid NOT NULL,
    task_id uuid NOT NULL,
    run_id uuid NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    actor_id uuid,
    actor_name text,
    action text NOT NULL,
    via text NOT NULL,
    as_admin boolean DEFAULT false NOT NULL,
    data jsonb DEFAULT '{}'::jsonb NOT NULL
);

CREATE TABLE public.hitl_comment (
    id uuid NOT NULL,
    task_id uuid NOT NULL,
    comment text NOT NULL,
    created_by uuid NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.hitl_decision (
    id uuid NOT NULL,
    task_id uuid NOT NULL,
    decision text NOT NULL,
    payload json,
    comment text,
    decided_by uuid NOT NULL,
    decided_at timestamp with time zone NOT NULL,
    via text NOT NULL,
    as_admin boolean NOT NULL,
    delivered_at timestamp with time zone,
    received_at timestamp with time zone,
    applied_at timestamp with time zone
);

CREATE TABLE public.hitl_task (
    id uuid NOT NULL,
    run_id uuid NOT NULL,
    workflow_id uuid,
    workflow_name text NOT NULL,
    owner_id uuid NOT NULL,
    initiator_id uuid NOT NULL,
    task text NOT NULL,
    task_name text NOT NULL,
    title text NOT NULL,
    description text,
    subject json,
    form_schema json,
    decisions jsonb NOT NULL,
    status text DEFAULT 'open'::text NOT NULL,
    priority integer NOT NULL,
    assignee text,
    assignee_key text,
    candidates jsonb NOT NULL,
    candidate_keys text[] NOT NULL,
    principals text[] GENERATED ALWAYS AS (
CASE
    WHEN (assignee_key IS NULL) THEN candidate_keys
    ELSE (candidate_keys || assignee_key)
END) STORED NOT NULL,
    claimed_by uuid,
    claimed_at timestamp with time zone,
    due_at timestamp with time zone,
    expires_at timestamp with time zone,
    escalation_level integer DEFAULT 0 NOT NULL,
    quorum jsonb,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    initiator_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    delegate text DEFAULT 'candidates'::text NOT NULL,
    delegations jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT hitl_task_check CHECK (((status = 'claimed'::text) <= (claimed_by IS NOT NULL))),
    CONSTRAINT hitl_task_delegate_check CHECK ((delegate = ANY (ARRAY['candidates'::text, 'anyone'::text]))),
    CONSTRAINT hitl_task_priority_check CHECK (((priority >= 0) AND (priority <= 100))),
    CONSTRAINT hitl_task_status_check CHECK ((status = ANY (ARRAY['open'::text, 'claimed'::text, 'decided'::text, 'expired'::text, 'cancelled'::text])))
);

CREATE TABLE public.hitl_vote (
    id uuid NOT NULL,
    task_id uuid NOT NULL,
    decision text NOT NULL,
    payload json,
    comment text,
    voted_by uuid NOT NULL,
    voted_at timestamp with time zone NOT NULL,
    via text NOT NULL,
    as_admin boolean NOT NULL
);

CREATE TABLE public.idempotency_record (
    user_id uuid NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL,
    status integer NOT NULL,
    headers jsonb NOT NULL,
    body text,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE public.inbound_event (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    source text NOT NULL,
    event_id text NOT NULL,
    type text NOT NULL,
    subject text,
    at timestamp with time zone,
    event json NOT NULL,
    received_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.installation (
    only_row boolean DEFAULT true NOT NULL,
    file_store_id uuid NOT NULL,
    file_store_marked boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT installation_only_row_check CHECK (only_row)
);

CREATE TABLE public.invocation (
    run_id uuid NOT NULL,
    key text NOT NULL,
    agent_id uuid,
    agent_version text,
    claimed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    finished_at timestamp with time zone,
    result json,
    error json,
    progress json
);

CREATE TABLE public.login_attempt (
    id uuid NOT NULL,
    account text NOT NULL,
    address text NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.maintenance (
    only_row boolean DEFAULT true NOT NULL,
    installation_id uuid DEFAULT gen_random_uuid() NOT NULL,
    sweep_after uuid,
    sweep_begun_at timestamp with time zone,
    CONSTRAINT maintenance_only_row_check CHECK (only_row)
);

CREATE TABLE public.marketplace_install (
    id uuid NOT NULL,
    item_id uuid NOT NULL,
    version text NOT NULL,
    digest text NOT NULL,
    user_id uuid NOT NULL,
    ref_id uuid NOT NULL,
    installed_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.marketplace_item (
    id uuid NOT NULL,
    kind text NOT NULL,
    ref_id uuid NOT NULL,
    publisher_id uuid NOT NULL,
    status text NOT NULL,
    version text NOT NULL,
    digest text NOT NULL,
    name text NOT NULL,
    summary text,
    description text,
    license text,
    categories text[] NOT NULL,
    tags text[] NOT NULL,
    requires jsonb NOT NULL,
    installs integer DEFAULT 0 NOT NULL,
    rating_sum integer DEFAULT 0 NOT NULL,
    rating_count integer DEFAULT 0 NOT NULL,
    rating double precision GENERATED ALWAYS AS (
CASE
    WHEN (rating_count = 0) THEN (0)::numeric
    ELSE round(((rating_sum)::numeric / (rating_count)::numeric), 2)
END) STORED NOT NULL,
    created_at timestamp(3) with time zone NOT NULL,
    published_at timestamp(3) with time zone,
    listed_at timestamp(3) with time zone GENERATED ALWAYS AS (COALESCE(published_at, created_at)) STORED NOT NULL,
    updated_at timestamp(3) with time zone NOT NULL,
    CONSTRAINT marketplace_item_kind_check CHECK ((kind = ANY (ARRAY['agent'::text, 'workflow'::text]))),
    CONSTRAINT marketplace_item_status_check CHECK ((status = ANY (ARRAY['submitted'::text, 'approved'::text, 'rejected'::text, 'withdrawn'::text])))
);

CREATE TABLE public.marketplace_review (
    id uuid NOT NULL,
    item_id uuid NOT NULL,
    user_id uuid NOT NULL,
    version text NOT NULL,
    rating integer NOT NULL,
    text text,
    created_at timestamp(3) with time zone NOT NULL,
    updated_at timestamp(3) with time zone NOT NULL,
    CONSTRAINT marketplace_review_rating_check CHECK (((rating >= 1) AND (rating <= 5)))
);

CREATE TABLE public.marketplace_version (
    id uuid NOT NULL,
    item_id uuid NOT NULL,
    version text NOT NULL,
    digest text NOT NULL,
    content json NOT NULL,
    requires jsonb NOT NULL,
    name text NOT NULL,
    summary text,
    description text,
    license text,
    categories text[] NOT NULL,
    tags text[] NOT NULL,
    status text NOT NULL,
    reason text,
    reviewed_by uuid,
    reviewed_at timestamp(3) with time zone,
    submitted_at timestamp(3) with time zone NOT NULL,
    CONSTRAINT marketplace_version_status_check CHECK ((status = ANY (ARRAY['submitted'::text, 'approved'::text, 'rejected'::text])))
);

CREATE TABLE public.refresh_token (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    token_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);

CREATE UNLOGGED TABLE public.request_count (
    user_id uuid NOT NULL,
    minute timestamp with time zone NOT NULL,
    requests integer NOT NULL
);

CREATE TABLE public.run (
    id uuid NOT NULL,
    workflow_id uuid,
    workflow_revision integer,
    workflow_name text NOT NULL,
    definition json NOT NULL,
    status text NOT NULL,
    projection_counter bigint DEFAULT 0 NOT NULL,
    waiting_on jsonb DEFAULT '[]'::jsonb NOT NULL,
    input json,
    output json,
    error json,
    owner_id uuid NOT NULL,
    parent_run_id uuid,
    parent_task text,
    root_run_id uuid NOT NULL,
    retry_of uuid,
    agent_id uuid,
    usage jsonb DEFAULT '{}'::jsonb NOT NULL,
    last_seq integer DEFAULT 0 NOT NULL,
    temporal_run_id text,
    start_attempts integer DEFAULT 0 NOT NULL,
    next_start_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    detached boolean DEFAULT false NOT NULL,
    initiator_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    tree_runs integer DEFAULT 0 NOT NULL,
    tree_events bigint DEFAULT 0 NOT NULL,
    tree_tasks bigint DEFAULT 0 NOT NULL,
    task_count integer DEFAULT 0 NOT NULL,
    waiting_count integer DEFAULT 0 NOT NULL
);

CREATE TABLE public.run_checkpoint (
    run_id uuid NOT NULL,
    state json NOT NULL
);

CREATE TABLE public.run_event (
    run_id uuid NOT NULL,
    seq integer NOT NULL,
    key text NOT NULL,
    type text NOT NULL,
    at timestamp with time zone NOT NULL,
    level text NOT NULL,
    task text,
    message text NOT NULL,
    data json NOT NULL,
    tx xid8 DEFAULT pg_current_xact_id() NOT NULL,
    gpos bigint NOT NULL
);

ALTER TABLE public.run_event ALTER COLUMN gpos ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.run_event_gpos_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.run_file (
    run_id uuid NOT NULL,
    file_id uuid NOT NULL
);

CREATE TABLE public.run_pin (
    run_id uuid NOT NULL,
    reference text NOT NULL,
    agent_id uuid NOT NULL,
    version text NOT NULL,
    snapshot json NOT NULL
);

CREATE TABLE public.run_signal (
    id uuid NOT NULL,
    run_id uuid NOT NULL,
    kind text NOT NULL,
    payload json NOT NULL,
    by_id uuid,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    delivered_at timestamp with time zone,
    received_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    next_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.run_stuck (
    run_id uuid NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    attempts integer NOT NULL,
    checked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.run_task (
    run_id uuid NOT NULL,
    reference text NOT NULL,
    visit integer NOT NULL,
    seq integer NOT NULL,
    name text NOT NULL,
    type text NOT NULL,
    status text NOT NULL,
    attempt integer DEFAULT 1 NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    agent_id uuid,
    agent_version text,
    hitl_task_id uuid,
    child_run_id uuid,
    usage jsonb,
    error json
);

CREATE TABLE public.schema_migration (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    executed_at timestamp(6) with time zone DEFAULT CURRENT_TIMESTAMP(6) NOT NULL
);

CREATE SEQUENCE public.schema_migration_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.schema_migration_id_seq OWNED BY public.schema_migration.id;

CREATE TABLE public.secret (
    owner_id uuid NOT NULL,
    name text NOT NULL,
    value_encrypted text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.signing_key (
    kid text NOT NULL,
    public_jwk jsonb NOT NULL,
    private_key_encrypted text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.temporal_payload (
    digest text NOT NULL,
    data bytea,
    used_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    file_id uuid,
    key_id text,
    CONSTRAINT temporal_payload_place CHECK (((data IS NULL) <> (file_id IS NULL)))
);

CREATE TABLE public.usage_record (
    id uuid NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    run_id uuid NOT NULL,
    user_id uuid NOT NULL,
    agent_id uuid,
    agent_version text,
    usage jsonb NOT NULL
);

CREATE TABLE public.user_account (
    id uuid NOT NULL,
    username text NOT NULL,
    email text NOT NULL,
    display_name text,
    password_hash text NOT NULL,
    roles text[] NOT NULL,
    groups text[] DEFAULT '{}'::text[] NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    token_epoch integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT user_account_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text])))
);

CREATE TABLE public.webhook (
    id uuid NOT NULL,
    description text,
    secret_encrypted text NOT NULL
);

CREATE TABLE public.workflow (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    name text NOT NULL,
    description text,
    visibility text DEFAULT 'private'::text NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    revision integer NOT NULL,
    valid boolean NOT NULL,
    runnable boolean NOT NULL,
    archived_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    provenance jsonb,
    CONSTRAINT workflow_visibility_check CHECK ((visibility = ANY (ARRAY['private'::text, 'public'::text])))
);

CREATE TABLE public.workflow_revision (
    workflow_id uuid NOT NULL,
    revision integer NOT NULL,
    definition json NOT NULL,
    digest text NOT NULL,
    valid boolean NOT NULL,
    runnable boolean NOT NULL,
    problems jsonb NOT NULL,
    input_schema json,
    agents jsonb NOT NULL,
    dsl_namespace text,
    dsl_name text,
    dsl_version text,
    created_by uuid NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ONLY public.schema_migration ALTER COLUMN id SET DEFAULT nextval('public.schema_migration_id_seq'::regclass);

ALTER TABLE ONLY public.a2a_message
    ADD CONSTRAINT a2a_message_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.a2a_push_config
    ADD CONSTRAINT a2a_push_config_pkey PRIMARY KEY (task_id, id);

ALTER TABLE ONLY public.a2a_task
    ADD CONSTRAINT a2a_task_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.address_request_count
    ADD CONSTRAINT address_request_count_pkey PRIMARY KEY (address, minute);

ALTER TABLE ONLY public.agent
    ADD CONSTRAINT agent_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.agent_skill
    ADD CONSTRAINT agent_skill_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.agent_version
    ADD CONSTRAINT agent_version_agent_id_version_key UNIQUE (agent_id, version);

ALTER TABLE ONLY public.agent_version
    ADD CONSTRAINT agent_version_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.auth_client
    ADD CONSTRAINT auth_client_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.auth_session
    ADD CONSTRAINT auth_session_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.delivery_cursor
    ADD CONSTRAINT delivery_cursor_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_target_id_ord_key UNIQUE (target_id, ord);

ALTER TABLE ONLY public.delivery_target
    ADD CONSTRAINT delivery_target_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.encryption_key
    ADD CONSTRAINT encryption_key_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.file_fetch
    ADD CONSTRAINT file_fetch_pkey PRIMARY KEY (run_id, "position");

ALTER TABLE ONLY public.file
    ADD CONSTRAINT file_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.hitl_audit
    ADD CONSTRAINT hitl_audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.hitl_comment
    ADD CONSTRAINT hitl_comment_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.hitl_decision
    ADD CONSTRAINT hitl_decision_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.hitl_decision
    ADD CONSTRAINT hitl_decision_task_id_key UNIQUE (task_id);

ALTER TABLE ONLY public.hitl_task
    ADD CONSTRAINT hitl_task_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.hitl_vote
    ADD CONSTRAINT hitl_vote_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.hitl_vote
    ADD CONSTRAINT hitl_vote_task_id_voted_by_key UNIQUE (task_id, voted_by);

ALTER TABLE ONLY public.idempotency_record
    ADD CONSTRAINT idempotency_record_pkey PRIMARY KEY (user_id, method, path, key);

ALTER TABLE ONLY public.inbound_event
    ADD CONSTRAINT inbound_event_owner_id_source_event_id_key UNIQUE (owner_id, source, event_id);

ALTER TABLE ONLY public.inbound_event
    ADD CONSTRAINT inbound_event_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.invocation
    ADD CONSTRAINT invocation_pkey PRIMARY KEY (run_id, key);

ALTER TABLE ONLY public.login_attempt
    ADD CONSTRAINT login_attempt_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.maintenance
    ADD CONSTRAINT maintenance_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.marketplace_install
    ADD CONSTRAINT marketplace_install_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.marketplace_item
    ADD CONSTRAINT marketplace_item_kind_ref_id_key UNIQUE (kind, ref_id);

ALTER TABLE ONLY public.marketplace_item
    ADD CONSTRAINT marketplace_item_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.marketplace_review
    ADD CONSTRAINT marketplace_review_item_id_user_id_key UNIQUE (item_id, user_id);

ALTER TABLE ONLY public.marketplace_review
    ADD CONSTRAINT marketplace_review_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.marketplace_version
    ADD CONSTRAINT marketplace_version_item_id_version_key UNIQUE (item_id, version);

ALTER TABLE ONLY public.marketplace_version
    ADD CONSTRAINT marketplace_version_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.refresh_token
    ADD CONSTRAINT refresh_token_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.refresh_token
    ADD CONSTRAINT refresh_token_token_hash_key UNIQUE (token_hash);

ALTER TABLE ONLY public.request_count
    ADD CONSTRAINT request_count_pkey PRIMARY KEY (user_id, minute);

ALTER TABLE ONLY public.run_checkpoint
    ADD CONSTRAINT run_checkpoint_pkey PRIMARY KEY (run_id);

ALTER TABLE ONLY public.run_event
    ADD CONSTRAINT run_event_pkey PRIMARY KEY (run_id, seq);

ALTER TABLE ONLY public.run_event
    ADD CONSTRAINT run_event_run_id_key_key UNIQUE (run_id, key);

ALTER TABLE ONLY public.run_file
    ADD CONSTRAINT run_file_pkey PRIMARY KEY (run_id, file_id);

ALTER TABLE ONLY public.run_pin
    ADD CONSTRAINT run_pin_pkey PRIMARY KEY (run_id, reference);

ALTER TABLE ONLY public.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.run_signal
    ADD CONSTRAINT run_signal_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.run_stuck
    ADD CONSTRAINT run_stuck_pkey PRIMARY KEY (run_id);

ALTER TABLE ONLY public.run_task
    ADD CONSTRAINT run_task_pkey PRIMARY KEY (run_id, reference, visit);

ALTER TABLE ONLY public.schema_migration
    ADD CONSTRAINT schema_migration_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.secret
    ADD CONSTRAINT secret_pkey PRIMARY KEY (owner_id, name);

ALTER TABLE ONLY public.signing_key
    ADD CONSTRAINT signing_key_pkey PRIMARY KEY (kid);

ALTER TABLE ONLY public.temporal_payload
    ADD CONSTRAINT temporal_payload_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.usage_record
    ADD CONSTRAINT usage_record_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.user_account
    ADD CONSTRAINT user_account_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.webhook
    ADD CONSTRAINT webhook_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.workflow
    ADD CONSTRAINT workflow_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.workflow_revision
    ADD CONSTRAINT workflow_revision_pkey PRIMARY KEY (workflow_id, revision);

CREATE INDEX a2a_message_agent ON public.a2a_message USING btree (agent_id);

CREATE UNIQUE INDEX a2a_message_once ON public.a2a_message USING btree (owner_id, agent_id, once_key) WHERE (once_key IS NOT NULL);

CREATE INDEX a2a_message_task ON public.a2a_message USING btree (task_id, seq, id);

CREATE INDEX a2a_push_config_target ON public.a2a_push_config USING btree (target_id);

CREATE INDEX a2a_task_context ON public.a2a_task USING btree (context_id, agent_id);

CREATE INDEX a2a_task_list ON public.a2a_task USING btree (agent_id, owner_id, state_at DESC, id DESC);

CREATE INDEX a2a_task_owner ON public.a2a_task USING btree (owner_id, id DESC);

CREATE INDEX address_request_count_minute ON public.address_request_count USING btree (minute);

CREATE INDEX agent_capabilities ON public.agent USING gin (capabilities);

CREATE INDEX agent_modalities ON public.agent USING gin (modalities);

CREATE INDEX agent_name ON public.agent USING btree (name);

CREATE INDEX agent_owner ON public.agent USING btree (owner_id, id DESC);

CREATE INDEX agent_provenance ON public.agent USING btree (owner_id, ((provenance ->> 'item_id'::text))) WHERE (provenance IS NOT NULL);

CREATE INDEX agent_public ON public.agent USING btree (id DESC) WHERE (visibility = 'public'::text);

CREATE INDEX agent_skill_agent ON public.agent_skill USING btree (agent_id, id);

CREATE INDEX agent_tags ON public.agent USING gin (tags);

CREATE INDEX agent_version_author ON public.agent_version USING btree (created_by);

CREATE INDEX agent_version_served ON public.agent_version USING btree (agent_id, status, precedence);

CREATE INDEX auth_client_expiry ON public.auth_client USING btree (expires_at);

CREATE INDEX auth_client_user ON public.auth_client USING btree (user_id, id);

CREATE INDEX auth_session_expiry ON public.auth_session USING btree (expires_at);

CREATE INDEX auth_session_user ON public.auth_session USING btree (user_id);

CREATE INDEX delivery_created ON public.delivery USING btree (created_at);

CREATE UNIQUE INDEX delivery_event ON public.delivery USING btree (target_id, run_id, seq, part) WHERE (redelivery_of IS NULL);

CREATE INDEX delivery_failed ON public.delivery USING btree (target_id, ord) WHERE (status = 'failed'::text);

CREATE INDEX delivery_pending ON public.delivery USING btree (target_id, ord) WHERE (status = 'pending'::text);

CREATE INDEX delivery_run ON public.delivery USING btree (run_id, target_id) WHERE (run_id IS NOT NULL);

CREATE INDEX delivery_target_due ON public.delivery_target USING btree (due_at) WHERE (active AND (due_at IS NOT NULL));

CREATE INDEX delivery_target_owner ON public.delivery_target USING btree (owner_id, kind, id DESC);

CREATE INDEX delivery_target_run ON public.delivery_target USING btree (run_id) WHERE (run_id IS NOT NULL);

CREATE INDEX file_owner ON public.file USING btree (owner_id, id DESC);

CREATE INDEX file_public ON public.file USING btree (id DESC) WHERE (visibility = 'public'::text);

CREATE INDEX file_sha256 ON public.file USING btree (sha256, id DESC);

CREATE INDEX hitl_audit_actor ON public.hitl_audit USING btree (actor_id, id) WHERE (actor_id IS NOT NULL);

CREATE INDEX hitl_audit_run ON public.hitl_audit USING btree (run_id, id);

CREATE INDEX hitl_audit_task ON public.hitl_audit USING btree (task_id, id);

CREATE INDEX hitl_comment_created_by ON public.hitl_comment USING btree (created_by);

CREATE INDEX hitl_comment_task ON public.hitl_comment USING btree (task_id, id);

CREATE INDEX hitl_decision_decided_by ON public.hitl_decision USING btree (decided_by, decided_at);

CREATE INDEX hitl_decision_unapplied ON public.hitl_decision USING btree (received_at) WHERE (applied_at IS NULL);

CREATE INDEX hitl_task_claimed_by ON public.hitl_task USING btree (claimed_by) WHERE (claimed_by IS NOT NULL);

CREATE INDEX hitl_task_principals ON public.hitl_task USING gin (principals);

CREATE INDEX hitl_task_queue ON public.hitl_task USING btree (((- priority)), id) WHERE (status = ANY (ARRAY['open'::text, 'claimed'::text]));

CREATE INDEX hitl_task_queue_due ON public.hitl_task USING btree (due_at) WHERE ((status = ANY (ARRAY['open'::text, 'claimed'::text])) AND (due_at IS NOT NULL));

CREATE INDEX hitl_task_queue_principals ON public.hitl_task USING gin (principals) WHERE (status = ANY (ARRAY['open'::text, 'claimed'::text]));

CREATE INDEX hitl_task_run ON public.hitl_task USING btree (run_id, id);

CREATE INDEX hitl_task_status ON public.hitl_task USING btree (status, ((- priority)), id);

CREATE INDEX hitl_task_workflow ON public.hitl_task USING btree (workflow_id, id) WHERE (workflow_id IS NOT NULL);

CREATE INDEX hitl_vote_voted_by ON public.hitl_vote USING btree (voted_by);

CREATE INDEX idempotency_record_expiry ON public.idempotency_record USING btree (expires_at);

CREATE INDEX inbound_event_received ON public.inbound_event USING btree (received_at);

CREATE INDEX inbound_event_type ON public.inbound_event USING btree (type, id);

CREATE INDEX login_attempt_account ON public.login_attempt USING btree (account, at);

CREATE INDEX login_attempt_address ON public.login_attempt USING btree (address, at);

CREATE INDEX login_attempt_at ON public.login_attempt USING btree (at);

CREATE INDEX marketplace_install_item ON public.marketplace_install USING btree (item_id, user_id);

CREATE INDEX marketplace_install_user ON public.marketplace_install USING btree (user_id, id DESC);

CREATE INDEX marketplace_item_categories ON public.marketplace_item USING gin (categories);

CREATE INDEX marketplace_item_installs ON public.marketplace_item USING btree (installs DESC, id DESC);

CREATE INDEX marketplace_item_new ON public.marketplace_item USING btree (listed_at DESC, id DESC);

CREATE INDEX marketplace_item_publisher ON public.marketplace_item USING btree (publisher_id, listed_at DESC, id DESC);

CREATE INDEX marketplace_item_rating ON public.marketplace_item USING btree (rating DESC, rating_count DESC, id DESC);

CREATE INDEX marketplace_item_status ON public.marketplace_item USING btree (status, listed_at DESC, id DESC) WHERE (status <> 'approved'::text);

CREATE INDEX marketplace_item_tags ON public.marketplace_item USING gin (tags);

CREATE INDEX marketplace_review_list ON public.marketplace_review USING btree (item_id, id DESC);

CREATE INDEX marketplace_review_user ON public.marketplace_review USING btree (user_id);

CREATE INDEX marketplace_version_reviewer ON public.marketplace_version USING btree (reviewed_by) WHERE (reviewed_by IS NOT NULL);

CREATE INDEX refresh_token_session ON public.refresh_token USING btree (session_id);

CREATE INDEX request_count_minute ON public.request_count USING btree (minute);

CREATE INDEX run_agent ON public.run USING btree (agent_id, id DESC) WHERE (agent_id IS NOT NULL);

CREATE INDEX run_event_position ON public.run_event USING btree (tx, gpos);

CREATE INDEX run_file_file ON public.run_file USING btree (file_id);

CREATE INDEX run_finished ON public.run USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX run_live ON public.run USING btree (id) WHERE (status = ANY (ARRAY['running'::text, 'waiting'::text, 'suspended'::text]));

CREATE INDEX run_live_owner ON public.run USING btree (owner_id) WHERE (status = ANY (ARRAY['pending'::text, 'running'::text, 'waiting'::text, 'suspended'::text]));

CREATE INDEX run_owner ON public.run USING btree (owner_id, id DESC);

CREATE INDEX run_parent ON public.run USING btree (parent_run_id) WHERE (parent_run_id IS NOT NULL);

CREATE INDEX run_pending ON public.run USING btree (next_start_at) WHERE (status = 'pending'::text);

CREATE INDEX run_pin_agent ON public.run_pin USING btree (agent_id, run_id DESC);

CREATE INDEX run_retry_of ON public.run USING btree (retry_of) WHERE (retry_of IS NOT NULL);

CREATE INDEX run_signal_open ON public.run_signal USING btree (next_at) WHERE (received_at IS NULL);

CREATE INDEX run_signal_run ON public.run_signal USING btree (run_id);

CREATE INDEX run_status ON public.run USING btree (status, id DESC);

CREATE INDEX run_task_child ON public.run_task USING btree (child_run_id) WHERE ((child_run_id IS NOT NULL) AND (status = ANY (ARRAY['running'::text, 'waiting'::text])));

CREATE INDEX run_task_order ON public.run_task USING btree (run_id, seq);

CREATE INDEX run_workflow ON public.run USING btree (workflow_id, id DESC);

CREATE UNIQUE INDEX temporal_payload_file ON public.temporal_payload USING btree (file_id) WHERE (file_id IS NOT NULL);

CREATE INDEX temporal_payload_key ON public.temporal_payload USING btree (key_id);

CREATE INDEX temporal_payload_used ON public.temporal_payload USING btree (used_at);

CREATE INDEX usage_record_run ON public.usage_record USING btree (run_id);

CREATE INDEX usage_record_user ON public.usage_record USING btree (user_id, at);

CREATE UNIQUE INDEX user_account_email ON public.user_account USING btree (lower(email));

CREATE UNIQUE INDEX user_account_username ON public.user_account USING btree (lower(username));

CREATE INDEX workflow_owner ON public.workflow USING btree (owner_id, id DESC);

CREATE INDEX workflow_public ON public.workflow USING btree (id DESC) WHERE ((visibility = 'public'::text) AND (archived_at IS NULL));

CREATE INDEX workflow_revision_author ON public.workflow_revision USING btree (created_by);

CREATE INDEX workflow_revision_name ON public.workflow_revision USING btree (dsl_namespace, dsl_name, dsl_version);

CREATE INDEX workflow_tags ON public.workflow USING gin (tags);

CREATE TRIGGER hitl_audit_append_only BEFORE DELETE OR UPDATE ON public.hitl_audit FOR EACH ROW EXECUTE FUNCTION public.hitl_audit_refuse();

CREATE TRIGGER hitl_audit_no_truncate BEFORE TRUNCATE ON public.hitl_audit FOR EACH STATEMENT EXECUTE FUNCTION public.hitl_audit_refuse();

CREATE TRIGGER run_ended AFTER UPDATE OF status ON public.run FOR EACH ROW WHEN (((new.status = ANY (ARRAY['cancelled'::text, 'faulted'::text])) AND (new.status <> old.status))) EXECUTE FUNCTION public.notify_ended_call();

CREATE TRIGGER run_task_ended AFTER UPDATE OF status ON public.run_task FOR EACH ROW WHEN (((new.status = ANY (ARRAY['cancelled'::text, 'faulted'::text])) AND (new.status <> old.status) AND (new.type = ANY (ARRAY['agent'::text, 'http'::text, 'call'::text])))) EXECUTE FUNCTION public.notify_ended_call();

CREATE TRIGGER run_waits_for_people BEFORE UPDATE OF status, waiting_on ON public.run FOR EACH ROW WHEN (((old.status IS DISTINCT FROM new.status) OR (old.waiting_on IS DISTINCT FROM new.waiting_on))) EXECUTE FUNCTION public.run_waits_for_people();

ALTER TABLE ONLY public.a2a_message
    ADD CONSTRAINT a2a_message_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES public.agent(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.a2a_message
    ADD CONSTRAINT a2a_message_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.a2a_message
    ADD CONSTRAINT a2a_message_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.a2a_task(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.a2a_push_config
    ADD CONSTRAINT a2a_push_config_target_id_fkey FOREIGN KEY (target_id) REFERENCES public.delivery_target(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.a2a_push_config
    ADD CONSTRAINT a2a_push_config_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.a2a_task(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.a2a_task
    ADD CONSTRAINT a2a_task_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES public.agent(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.a2a_task
    ADD CONSTRAINT a2a_task_id_fkey FOREIGN KEY (id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.a2a_task
    ADD CONSTRAINT a2a_task_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.agent
    ADD CONSTRAINT agent_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.agent_skill
    ADD CONSTRAINT agent_skill_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES public.agent(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.agent_version
    ADD CONSTRAINT agent_version_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES public.agent(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.agent_version
    ADD CONSTRAINT agent_version_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.auth_client
    ADD CONSTRAINT auth_client_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.auth_session
    ADD CONSTRAINT auth_session_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_target_id_fkey FOREIGN KEY (target_id) REFERENCES public.delivery_target(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.delivery_target
    ADD CONSTRAINT delivery_target_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.delivery_target
    ADD CONSTRAINT delivery_target_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.file_fetch
    ADD CONSTRAINT file_fetch_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.file
    ADD CONSTRAINT file_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.hitl_comment
    ADD CONSTRAINT hitl_comment_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.hitl_comment
    ADD CONSTRAINT hitl_comment_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.hitl_task(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.hitl_decision
    ADD CONSTRAINT hitl_decision_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.hitl_decision
    ADD CONSTRAINT hitl_decision_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.hitl_task(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.hitl_task
    ADD CONSTRAINT hitl_task_claimed_by_fkey FOREIGN KEY (claimed_by) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.hitl_task
    ADD CONSTRAINT hitl_task_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.hitl_vote
    ADD CONSTRAINT hitl_vote_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.hitl_task(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.hitl_vote
    ADD CONSTRAINT hitl_vote_voted_by_fkey FOREIGN KEY (voted_by) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.idempotency_record
    ADD CONSTRAINT idempotency_record_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.inbound_event
    ADD CONSTRAINT inbound_event_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.invocation
    ADD CONSTRAINT invocation_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.marketplace_install
    ADD CONSTRAINT marketplace_install_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.marketplace_item(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.marketplace_install
    ADD CONSTRAINT marketplace_install_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.marketplace_item
    ADD CONSTRAINT marketplace_item_publisher_id_fkey FOREIGN KEY (publisher_id) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.marketplace_review
    ADD CONSTRAINT marketplace_review_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.marketplace_item(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.marketplace_review
    ADD CONSTRAINT marketplace_review_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.marketplace_version
    ADD CONSTRAINT marketplace_version_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.marketplace_item(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.marketplace_version
    ADD CONSTRAINT marketplace_version_reviewed_by_fkey FOREIGN KEY (reviewed_by) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.refresh_token
    ADD CONSTRAINT refresh_token_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.auth_session(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.run_checkpoint
    ADD CONSTRAINT run_checkpoint_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.run_event
    ADD CONSTRAINT run_event_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.run_file
    ADD CONSTRAINT run_file_file_id_fkey FOREIGN KEY (file_id) REFERENCES public.file(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.run_file
    ADD CONSTRAINT run_file_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.run
    ADD CONSTRAINT run_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.run
    ADD CONSTRAINT run_parent_run_id_fkey FOREIGN KEY (parent_run_id) REFERENCES public.run(id);

ALTER TABLE ONLY public.run_pin
    ADD CONSTRAINT run_pin_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.run
    ADD CONSTRAINT run_retry_of_fkey FOREIGN KEY (retry_of) REFERENCES public.run(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.run_signal
    ADD CONSTRAINT run_signal_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.run_stuck
    ADD CONSTRAINT run_stuck_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.run_task
    ADD CONSTRAINT run_task_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.run(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.run
    ADD CONSTRAINT run_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES public.workflow(id);

ALTER TABLE ONLY public.secret
    ADD CONSTRAINT secret_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.user_account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.usage_record
    ADD CONSTRAINT usage_record_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.webhook
    ADD CONSTRAINT webhook_id_fkey FOREIGN KEY (id) REFERENCES public.delivery_target(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.workflow
    ADD CONSTRAINT workflow_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.workflow_revision
    ADD CONSTRAINT workflow_revision_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.user_account(id);

ALTER TABLE ONLY public.workflow_revision
    ADD CONSTRAINT workflow_revision_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES public.workflow(id) ON DELETE CASCADE;

insert into delivery_cursor (name, tx, gpos) values ('fan_out', pg_current_xact_id(), -1);
insert into maintenance default values;
insert into schema_migration (name) values
  ('0001-auth'),
  ('0002-agents'),
  ('0003-workflows'),
  ('0004-runs'),
  ('0005-hitl'),
  ('0006-marketplace'),
  ('0007-rate-limit'),
  ('0007-files'),
  ('0007-webhooks'),
  ('0008-a2a'),
  ('0009-append-functions'),
  ('0010-retention'),
  ('0010-a2a-dialect'),
  ('0011-unapplied-signals'),
  ('0012-invocation-progress'),
  ('0013-invisible-agents'),
  ('0014-run-files'),
  ('0017-end-run'),
  ('0015-payload-files'),
  ('0018-decide'),
  ('0019-a2a-auth-required'),
  ('0020-function-plans'),
  ('202611220400-run-row-locks'),
  ('202611220410-detached-runs'),
  ('202611220354-version-precedence'),
  ('202611220359-payload-keys'),
  ('202611220412-initiators'),
  ('202611220420-ended-calls'),
  ('202611220425-delegation'),
  ('202611220415-address-rate-limit'),
  ('202611220434-run-tree-limits'),
  ('202611220428-installation'),
  ('202611220433-version-dates'),
  ('202611220445-stuck-runs'),
  ('202611220440-client-expiry'),
  ('202611220438-waiting-count'),
  ('202611220452-maintenance'),
  ('202611220451-encryption-keys');
