-- Before a call of an agent with limits: admits the call, or gives it a place among those that wait. A call
-- that asks again keeps its place, and one that was admitted stays so. Calls that nobody renews lose their
-- turn. The milliseconds between calls of the rate are `p_interval_ms`, and so many may come at once as
-- `p_burst`; null without a rate. Only calls that are admitted use up the rate, so those that give up while
-- they wait leave nothing behind.
--
-- The result is {state: 'calling'}, {state: 'waiting', ahead: the calls before it, wait_ms: by the rate, at
-- most a minute}, or {state: 'open', since, failures, trial_at} if the circuit is open.
create or replace function take_turn(
  p_run uuid, p_key text, p_agent uuid, p_concurrency int, p_interval_ms float8, p_burst int,
  p_breaker boolean, p_lease interval
) returns json
language plpgsql set enable_seqscan = off as $$
declare
  g agent_gate;
  mine agent_turn;
  wait interval := '0';
  calling int;
  ahead int;
  here timestamptz;
begin
  insert into agent_gate (agent_id) values (p_agent) on conflict do nothing;
  select * into g from agent_gate where agent_id = p_agent for update;
  here := clock_timestamp();
  delete from agent_turn where (run_id, key) in (
    select run_id, key from agent_turn
     where agent_id = p_agent and expires_at <= here and not (run_id = p_run and key = p_key)
       for update skip locked);
  select * into mine from agent_turn where run_id = p_run and key = p_key;
  if mine.state = 'calling' then
    -- One that goes on outside keeps the time of that.
    update agent_turn set expires_at = here + p_lease
     where run_id = p_run and key = p_key and held_by is null;
    return '{"state": "calling"}';
  end if;
  select count(*) into calling from agent_turn where agent_id = p_agent and state = 'calling';
  if p_breaker and (g.circuit = 'open' and g.trial_at > here or g.circuit = 'half_open' and calling > 0) then
    delete from agent_turn where run_id = p_run and key = p_key;
    return json_build_object('state', 'open', 'since', g.circuit_since, 'failures', g.failures,
                             'trial_at', greatest(g.trial_at, here));
  end if;
  if mine.key is null then
    insert into agent_turn (run_id, key, agent_id, state, expires_at)
    values (p_run, p_key, p_agent, 'waiting', here + p_lease)
    returning * into mine;
  end if;
  select count(*) into ahead from agent_turn
   where agent_id = p_agent and state = 'waiting' and number < mine.number;
  if p_interval_ms is not null then
    -- The calls ahead come first.
    wait := greatest(interval '0', greatest(g.busy_until, here) - here
                                   - (p_burst - 1 - ahead) * p_interval_ms * interval '1 millisecond');
  end if;
  if wait = interval '0' and (p_concurrency is null or calling + ahead < p_concurrency) then
    update agent_turn set state = 'calling', expires_at = here + p_lease where run_id = p_run and key = p_key;
    if p_interval_ms is not null then
      update agent_gate
         set busy_until = greatest(g.busy_until, here) + p_interval_ms * interval '1 millisecond'
       where agent_id = p_agent;
    end if;
    if p_breaker and g.circuit = 'open' then
      update agent_gate set circuit = 'half_open', circuit_since = here where agent_id = p_agent;
    end if;
    return '{"state": "calling"}';
  end if;
  wait := least(wait, interval '1 minute');
  update agent_turn set expires_at = here + wait + p_lease where run_id = p_run and key = p_key;
  return json_build_object('state', 'waiting', 'ahead', ahead,
                           'wait_ms', ceil(extract(epoch from wait) * 1000));
end $$;
