-- Before an agent is called: appends the batch of events, claims the key of the invocation, and reads the
-- agent that the run has pinned. One round trip, as `append_run_events`, which has `p_quiet`.
--
-- `p_outcomes` are those of earlier calls (`keep_outcomes`); with `conflict`, nothing was done. `p_digest` is
-- of the call's input.
--
-- Of two attempts, the later one by `p_scheduled_ms` and `p_attempt` has the claim, whichever comes here first
-- (docs/architecture.md#calls-of-counterparts). Null, of a release before, is later than all. `overtaken`: a
-- later attempt has the claim, and no outcome yet. Temporal goes on only with activities for which it waits,
-- so a further attempt of one that was refused gets the claim: the server's clock was set back.
--
-- `claim`: how often the key has been claimed, now included (`keep_outcomes`).
-- `claimed_before`: this is a repeat; `result` and `error` are what an earlier attempt has left, and
-- `other_input` tells that it had another input.
-- `budgeted`: a budget bears the call. `prices_version` grows with each change of the prices.
-- `agent` is the pinned agent as it is now; `visible`: it may be called with the rights of the run, those of
-- the workflow's team or owner, else of who runs it.
create or replace function begin_invocation(
  p_run uuid, p_events json, p_projection jsonb, p_acks uuid[],
  p_key text, p_pin text, p_task text, p_visit int, p_digest text, p_outcomes json,
  p_scheduled_ms bigint default null, p_attempt int default null, p_quiet boolean default false
) returns json
language plpgsql set enable_seqscan = off as $$
declare
  appended jsonb;
  claimed_before boolean;
  claim int := 1;
  overtaken boolean := false;
  earlier_result json;
  earlier_error json;
  other_input boolean := false;
  pinned_agent uuid;
  pinned_version text;
  pinned_snapshot json;
  agent_now json;
  budgeted boolean := false;
  prices bigint;
begin
  if p_outcomes is not null and not keep_outcomes(p_run, p_outcomes) then
    return json_build_object(
      'closed', not exists (select from run where id = p_run and not run_is_over(status)), 'conflict', true);
  end if;
  if p_pin is not null then
    select p.agent_id, p.version, p.snapshot into pinned_agent, pinned_version, pinned_snapshot
      from run_pin p where p.run_id = p_run and p.reference = p_pin;
  end if;
  appended := append_run_events(
    p_run, p_events, p_projection, p_acks, p_quiet, p_task, p_visit, pinned_agent, pinned_version);
  if (appended ->> 'closed')::boolean then
    return appended::json;
  end if;
  insert into invocation (run_id, key, input_digest, scheduled_ms, scheduled_attempt)
  values (p_run, p_key, decode(p_digest, 'hex'), p_scheduled_ms, p_attempt)
      on conflict do nothing;
  claimed_before := not found;
  if claimed_before then
    -- Calls that an earlier build began have no digest.
    update invocation i
       set claims = i.claims + 1,
           scheduled_ms = coalesce(p_scheduled_ms, i.scheduled_ms),
           scheduled_attempt = coalesce(p_attempt, i.scheduled_attempt),
           refused_ms = null
     where i.run_id = p_run and i.key = p_key
       and (p_scheduled_ms is null or i.scheduled_ms is null
            or (p_scheduled_ms, p_attempt) >= (i.scheduled_ms, i.scheduled_attempt)
            or (p_scheduled_ms = i.refused_ms and p_attempt > 1))
    returning i.claims, i.result, i.error, coalesce(i.input_digest <> decode(p_digest, 'hex'), false)
      into claim, earlier_result, earlier_error, other_input;
    if not found then
      -- Attempts of one activity need no clock, and short calls (below 1) have no further ones.
      update invocation i
         set refused_ms = case when p_scheduled_ms < i.scheduled_ms and p_attempt > 0
                               then p_scheduled_ms else i.refused_ms end
       where i.run_id = p_run and i.key = p_key
      returning 0, i.result, i.error, i.finished_at is null,
                coalesce(i.input_digest <> decode(p_digest, 'hex'), false)
        into claim, earlier_result, earlier_error, overtaken, other_input;
      -- Without a row, the later attempt waits for its turn.
      overtaken := overtaken is distinct from false;
    end if;
  end if;
  if pinned_agent is not null and not overtaken then
    -- A row that was there before the batch, such as that of a task which calls again.
    update run_task set agent_id = pinned_agent, agent_version = pinned_version
     where run_id = p_run and reference = p_task and visit = p_visit
       and (agent_id, agent_version) is distinct from (pinned_agent, pinned_version);
    select json_build_object('status', a.status, 'limits', a.limits, 'visible',
             a.visibility = 'public' or a.holder_id = coalesce(w.holder_id, r.owner_id)
             or a.holder_id = any(rights_held(coalesce(w.holder_id, r.owner_id)))
             or coalesce('admin' = any(u.roles), false)),
           exists (select from budget b
                    where b.subject_id = any(r.charged || r.owner_id || r.budget_id || pinned_agent)),
           (select m.prices_version from maintenance m)
      into agent_now, budgeted, prices
      from agent a, run r
      left join workflow w on w.id = r.workflow_id
      left join user_account u on u.id = coalesce(w.holder_id, r.owner_id)
     where a.id = pinned_agent and r.id = p_run;
    -- Once a second at most, so that runs do not queue for one row.
    update agent set last_used = clock_timestamp()
     where id = pinned_agent and (last_used is null or last_used < clock_timestamp() - interval '1 second');
  end if;
  -- json, not jsonb: keys of users' data keep their order.
  return json_build_object(
    'closed', false, 'signalled', appended -> 'signalled', 'tree', appended -> 'tree',
    'claim', claim, 'overtaken', overtaken, 'claimed_before', claimed_before,
    'result', earlier_result, 'error', earlier_error, 'other_input', other_input,
    'snapshot', case when not overtaken then pinned_snapshot end, 'agent', agent_now,
    'budgeted', budgeted, 'prices_version', prices);
end $$;
