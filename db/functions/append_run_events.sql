-- Appends to a run's log under the lock of the run's row, and stores what the events change in the rows of
-- tasks, usage and decisions. It is one round trip with cached plans, on the path that every step of every
-- run takes (docs/adr/0007). An event whose key the log has already is left out, so a repeat is harmless.
--
-- The caller computes all columns (domain/runs/event-columns.ts and projection-columns.ts). `p_events` has
-- with each event: `task_status`, if the event changes the row of its task; `starts` and `ends`, of the task;
-- `used`, of a call of an agent; `decision`, if it reports one as received or applied; `begins`, of the run;
-- `emits`; `notice`, if people are told of a human task.
-- `p_projection` is the run's status, and what follows from it; it counts if its counter is newer than the
-- row's. `parent_signal` in it is for the parent, if the waits for people change. `p_acks` are signals that
-- the run has received. With `p_quiet` the caller tells the readers of the log. `p_agent` is that of the task
-- `p_task` in its visit `p_visit`, if the batch adds its row.
--
-- A run began when its log says so, hence no step of it is longer than the run. One plan for each connection:
-- with others, each statement on the log would be planned again for its partitions.
--
-- The result is `{closed: true}` where the run is over, else `signalled` and, each time that the run's events
-- or tasks pass a multiple of 64, what its tree of runs has come to. `behind`: the row shows another status,
-- with this counter, which a workflow task may have written that was lost.
create or replace function append_run_events(
  p_run uuid, p_events json, p_projection jsonb, p_acks uuid[], p_quiet boolean default false,
  p_task text default null, p_visit int default null, p_agent uuid default null, p_version text default null
) returns jsonb
language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  r record;
  e record;
  tx_now xid8;
  added int := 0;
  tasks_added int := 0;
  began timestamptz;
  first_execution text;
  emitted int := 0;
  noticed int := 0;
  tree jsonb;
  differs boolean := false;
  taken boolean := false;
  signalled int := 0;
  is_called boolean;
begin
  select id, status, projection_counter, waiting_on, last_seq, parent_run_id, owner_id, root_run_id,
         workflow_id, task_count, last_tx
    into r from run where id = p_run for no key update;
  if not found or run_is_over(r.status) then
    return '{"closed": true}';
  end if;

  -- A run's events keep their order in the log of all runs too. A transaction may have begun before the one
  -- that wrote the last event, and have got the run's lock after it: it takes that one's place. No reader is
  -- past it while this transaction is open.
  tx_now := greatest(pg_current_xact_id(), r.last_tx);
  if r.last_tx is null then
    -- The run is older than these columns.
    tx_now := greatest(tx_now, (select l.tx from run_event l where l.run_id = p_run order by l.seq desc limit 1));
    first_execution := log_data(p_run, 'run:started') ->> 'execution';
  end if;

  -- Small statements for each event, and only those that it needs: to prepare one large statement for all of
  -- them takes longer than to run it, and nearly all batches have two or three events.
  for e in
    select i.*, d.*
      from json_to_recordset(p_events)
             as i (key text, type text, at timestamptz, level text, task text, message text, data json,
                   visit int, task_status text, starts boolean, ends boolean, used json, decision text,
                   begins boolean, emits boolean, notice text),
           json_to_record(case when task_status is null and used is null then '{}' else data end)
             as d (name text, attempt int, agent_id uuid, agent_version text,
                   hitl_task_id uuid, child_run_id uuid, usage jsonb, error json, items json)
  loop
    insert into run_event (run_id, seq, key, type, at, level, task, message, data, tx)
    values (p_run, r.last_seq + added + 1, e.key, e.type, e.at, e.level, e.task, e.message, e.data, tx_now)
    on conflict (run_id, key) do nothing;
    continue when not found;
    added := added + 1;
    if e.starts then
      tasks_added := tasks_added + 1;
    end if;
    if e.begins then
      began := least(began, e.at);
      first_execution := coalesce(first_execution, e.data ->> 'execution');
    end if;
    if e.emits then
      emitted := emitted + 1;
    end if;

    if e.task_status is not null then
      is_called := e.task = p_task and e.visit = p_visit;
      insert into run_task as t (run_id, reference, visit, seq, name, type, status, attempt, started_at,
                                 finished_at, agent_id, agent_version, hitl_task_id, child_run_id,
                                 awaited_run_id, usage, error, items)
      values (p_run, e.task, e.visit,
              case when e.starts then r.last_seq + added else 0 end,
              case when e.starts then coalesce(e.name, '') else '' end,
              case when e.starts then coalesce(e.data ->> 'type', '') else '' end,
              e.task_status,
              case when e.starts then coalesce(e.attempt, 1) else 1 end,
              case when e.starts then e.at else clock_timestamp() end,
              case when e.ends then e.at end,
              coalesce(e.agent_id, case when is_called then p_agent end),
              coalesce(e.agent_version, case when is_called then p_version end),
              e.hitl_task_id, e.child_run_id,
              case when e.task_status in ('running', 'waiting') then e.child_run_id end,
              e.usage, e.error,
              case when e.starts and e.items is not null
                   then array(select n::int from json_array_elements_text(e.items) n) end)
      on conflict (run_id, reference, visit) do update set
        status = excluded.status,
        finished_at = coalesce(excluded.finished_at, t.finished_at),
        agent_id = coalesce(excluded.agent_id, t.agent_id),
        agent_version = coalesce(excluded.agent_version, t.agent_version),
        hitl_task_id = coalesce(excluded.hitl_task_id, t.hitl_task_id),
        child_run_id = coalesce(excluded.child_run_id, t.child_run_id),
        awaited_run_id = case when excluded.status in ('running', 'waiting')
                              then coalesce(excluded.child_run_id, t.child_run_id) end,
        usage = coalesce(excluded.usage, t.usage),
        error = coalesce(excluded.error, t.error);
    end if;
    if e.used is not null then
      insert into usage_record (id, run_id, user_id, workflow_id, task, agent_id, agent_version, usage, model,
                                input_tokens, output_tokens, cost_usd)
      values (gen_random_uuid(), p_run, r.owner_id, r.workflow_id, e.task, e.agent_id, e.agent_version,
              coalesce(e.usage, '{}'), e.used ->> 'model', (e.used ->> 'input_tokens')::bigint,
              (e.used ->> 'output_tokens')::bigint, (e.used ->> 'cost_usd')::numeric);
    end if;
    if e.decision = 'received' then
      update hitl_decision set received_at = clock_timestamp()
       where id = (e.data ->> 'decision_id')::uuid and received_at is null;
    elsif e.decision = 'applied' then
      update hitl_decision set applied_at = clock_timestamp()
       where id = (e.data ->> 'decision_id')::uuid and applied_at is null;
    end if;
    if e.notice is not null then
      insert into notice (task_id, reason, data)
      select t.id, e.notice, e.data from hitl_task t where t.id = (e.data ->> 'hitl_task_id')::uuid;
      if found then
        noticed := noticed + 1;
      end if;
    end if;
  end loop;
  if noticed > 0 then
    perform pg_notify('notice', '');
  end if;

  -- An emitted event takes the way of those that are sent in: once for its owner, source and id, and not if
  -- the source is bound to another sender.
  if emitted > 0 then
    insert into inbound_event (id, owner_id, source, event_id, type, subject, at, event, run_id)
    select gen_random_uuid(), r.owner_id, m.event ->> 'source', m.event ->> 'id', m.event ->> 'type',
           m.event ->> 'subject', m.emitted_at, m.event, p_run
      from (select i.data -> 'event' as event, i.emitted_at
              from json_to_recordset(p_events)
                     as i (key text, data json, emits boolean, emitted_at timestamptz)
             where i.emits
               and exists (select from run_event f
                            where f.run_id = p_run and f.key = i.key and f.seq > r.last_seq)) m
     where not exists (select from event_source b
                        where b.holder_id = r.owner_id and b.source = m.event ->> 'source'
                          and (b.client_id is not null or b.user_id <> r.owner_id))
    on conflict (owner_id, source, event_id) do nothing;
    perform pg_notify('inbound_event', '');
  end if;

  if cardinality(p_acks) > 0 then
    update run_signal set received_at = clock_timestamp() where id = any(p_acks) and received_at is null;
  end if;

  if p_projection is not null then
    differs := (r.status, r.waiting_on)
                 is distinct from (p_projection ->> 'status', p_projection -> 'waiting_on');
    taken := (p_projection ->> 'counter')::bigint > r.projection_counter;
  end if;
  if taken then
    if differs
       and follow_run_status(
             p_run, people_asked(r.status, r.waiting_on), p_projection, r.last_seq + added + 1) then
      added := added + 1;
    end if;
    update run
       set last_seq = r.last_seq + added, last_tx = tx_now, task_count = r.task_count + tasks_added,
           execution = coalesce(execution, first_execution),
           projection_counter = (p_projection ->> 'counter')::bigint,
           status = p_projection ->> 'status', waiting_on = p_projection -> 'waiting_on',
           waiting_count = coalesce((p_projection ->> 'waiting_count')::int,
                                    jsonb_array_length(p_projection -> 'waiting_on')),
           started_at = coalesce(started_at, began, clock_timestamp())
     where id = p_run;
    if r.parent_run_id is not null
       and waits_for_people(r.status, r.waiting_on)
             <> p_projection #> '{parent_signal,payload,waiting_on}' then
      insert into run_signal (id, run_id, kind, payload)
      select s.id, p.id, s.kind, s.payload
        from jsonb_to_record(p_projection -> 'parent_signal') as s (id uuid, kind text, payload json), run p
       where p.id = r.parent_run_id and not run_is_over(p.status);
      get diagnostics signalled = row_count;
    end if;
  elsif added > 0 then
    update run
       set last_seq = r.last_seq + added, last_tx = tx_now, task_count = r.task_count + tasks_added,
           execution = coalesce(execution, first_execution), started_at = coalesce(started_at, began)
     where id = p_run;
  end if;

  if added > 0 and not p_quiet then
    perform pg_notify('run_event', p_run::text);
  end if;
  if (r.last_seq + added) / 64 > r.last_seq / 64 or (r.task_count + tasks_added) / 64 > r.task_count / 64 then
    update run
       set tree_events = tree_events + 64 * ((r.last_seq + added) / 64 - r.last_seq / 64),
           tree_tasks = tree_tasks + 64 * ((r.task_count + tasks_added) / 64 - r.task_count / 64)
     where id = r.root_run_id
    returning jsonb_build_object('root_run_id', id, 'events', tree_events, 'tasks', tree_tasks) into tree;
  end if;
  return jsonb_build_object(
    'closed', false, 'signalled', signalled > 0, 'tree', tree,
    'behind', case when differs and not taken then r.projection_counter end);
end $$;
