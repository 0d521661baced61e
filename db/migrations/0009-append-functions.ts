import { Migration } from '@mikro-orm/migrations';

/**
 * The append to a run's log, and the beginning of an invocation with it, as functions: each is one round trip with cached
 * plans where the statements were a dozen, on the path that every step of every run takes (docs/adr).
 */
export class Migration0009AppendFunctions extends Migration {
  override up(): void {
    this.addSql(`
create function append_run_events(p_run uuid, p_events json, p_projection jsonb, p_acks uuid[], p_signal uuid) returns jsonb
language plpgsql as $$
declare
  r record;
  added int := 0;
  taken boolean := false;
  signalled int := 0;
  waits_before jsonb;
  waits_after jsonb;
begin
  select id, status, projection_counter, waiting_on, last_seq, parent_run_id, owner_id into r from run where id = p_run for update;
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
    select count(*) into added from inserted;
  end if;

  if cardinality(p_acks) > 0 then
    update run_signal set received_at = clock_timestamp() where id = any(p_acks) and received_at is null;
  end if;

  taken := p_projection is not null and (p_projection ->> 'counter')::bigint > r.projection_counter;
  if taken then
    update run set last_seq = r.last_seq + added, projection_counter = (p_projection ->> 'counter')::bigint,
                   status = p_projection ->> 'status', waiting_on = p_projection -> 'waiting_on',
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
    update run set last_seq = r.last_seq + added where id = p_run;
  end if;

  if added > 0 then
    perform pg_notify('run_event', p_run::text);
  end if;
  return jsonb_build_object('closed', false, 'signalled', signalled > 0);
end $$;

create function begin_invocation(p_run uuid, p_events json, p_projection jsonb, p_acks uuid[], p_signal uuid,
                                 p_key text, p_pin text, p_task text, p_visit int) returns json
language plpgsql as $$
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
      select a.status into agent_status from agent a where a.id = pinned_agent;
      -- Once a second at most, so that runs do not queue for one row.
      update agent set last_used = clock_timestamp()
       where id = pinned_agent and (last_used is null or last_used < clock_timestamp() - interval '1 second');
    end if;
  end if;
  -- json, not jsonb: keys of users' data keep their order.
  return json_build_object('closed', false, 'signalled', appended -> 'signalled', 'claimed_before', claimed_before,
                           'result', earlier_result, 'error', earlier_error, 'snapshot', pinned_snapshot, 'agent_status', agent_status);
end $$;
`);
  }
}
