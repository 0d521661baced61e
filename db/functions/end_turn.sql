-- After a call of an agent with limits: gives its turn back, and counts how it ended for the circuit breaker:
-- `p_failed` is null if that says nothing. `p_failures` is null without a breaker. The result is the state
-- that the circuit has come to, or null if it has not changed.
create or replace function end_turn(
  p_run uuid, p_key text, p_agent uuid, p_failed boolean, p_failures int, p_within interval,
  p_open_for interval
) returns text
language plpgsql set enable_seqscan = off as $$
declare
  g agent_gate;
  here timestamptz;
begin
  -- Always first, as in `take_turn`.
  select * into g from agent_gate where agent_id = p_agent for update;
  here := clock_timestamp();
  delete from agent_turn where run_id = p_run and key = p_key;
  if p_failures is null or p_failed is null then
    return null;
  end if;
  if not p_failed then
    if g.circuit = 'open' or (g.circuit = 'closed' and g.failures = 0) then
      return null;
    end if;
    update agent_gate
       set circuit = 'closed', failures = 0, failing_since = null, trial_at = null,
           circuit_since = case when circuit = 'closed' then circuit_since else here end
     where agent_id = p_agent;
    return case when g.circuit = 'half_open' then 'closed' end;
  end if;
  if g.circuit = 'open' then
    return null;
  end if;
  if g.failing_since is null or (g.circuit = 'closed' and g.failing_since < here - p_within) then
    g.failures := 0;
    g.failing_since := here;
  end if;
  g.failures := g.failures + 1;
  if g.circuit = 'half_open' or g.failures >= p_failures then
    update agent_gate
       set circuit = 'open', circuit_since = here, trial_at = here + p_open_for,
           failures = g.failures, failing_since = g.failing_since
     where agent_id = p_agent;
    return 'open';
  end if;
  update agent_gate set failures = g.failures, failing_since = g.failing_since where agent_id = p_agent;
  return null;
end $$;
