-- Before a call of an agent: reserves what it may use in all budgets that bear it, or none. A repeat has what
-- the first attempt has reserved. The budgets are those of the agent, of who runs it, and what the run has in
-- `charged` and `budget_id`.
--
-- `p_cost` is null if nobody knows the price. `p_estimated`: the amounts are not the most that the call can
-- use, so a budget that nothing else holds admits them as long as anything is left.
--
-- `p_claim`: as the attempt has claimed the key; null, of a release before, is not looked at.
--
-- The result is {closed}, if the run is over; {overtaken}, if another attempt has the claim, or the outcome is
-- there: nobody would book what is reserved; {held: the number of budgets}; or {exceeded: what, budget: the
-- row}, of the first budget in the order of ids.
create or replace function hold_budgets(
  p_run uuid, p_key text, p_agent uuid, p_cost numeric, p_tokens bigint, p_estimated boolean,
  p_claim int default null
) returns json
language plpgsql set enable_seqscan = off as $$
declare
  bearers uuid[];
  b budget;
  held int := 0;
  what text;
begin
  -- The end of the run takes what is held: it comes before this, or sees it.
  select r.charged || r.owner_id || r.budget_id || p_agent into bearers
    from run r where r.id = p_run and not run_is_over(r.status) for share;
  if not found then
    return '{"closed": true}';
  end if;
  perform from invocation
    where run_id = p_run and key = p_key and claims = p_claim and finished_at is null for share;
  if p_claim is not null and not found then
    return '{"overtaken": true}';
  end if;
  select count(*) into held from budget_hold h where h.run_id = p_run and h.key = p_key;
  if held > 0 then
    return json_build_object('held', held);
  end if;
  perform from budget where subject_id = any(bearers) order by subject_id for no key update;
  perform roll_budget(subject_id) from budget where subject_id = any(bearers);
  for b in select * from budget where subject_id = any(bearers) order by subject_id loop
    what := case
      when b.max_invocations is not null and counts_call(b, p_agent)
           and b.used_invocations + b.held_invocations + 1 > b.max_invocations + b.more_invocations
        then 'invocations'
      when b.max_cost_usd is not null and p_cost is null then 'unpriced'
      when p_cost > 0
           and (b.used_cost_usd + b.held_cost_usd >= b.max_cost_usd + b.more_cost_usd
                or (b.used_cost_usd + b.held_cost_usd + p_cost > b.max_cost_usd + b.more_cost_usd
                    and not (p_estimated and b.held_cost_usd = 0)))
        then 'cost_usd'
      when p_tokens > 0
           and (b.used_tokens + b.held_tokens >= b.max_tokens + b.more_tokens
                or (b.used_tokens + b.held_tokens + p_tokens > b.max_tokens + b.more_tokens
                    and not (p_estimated and b.held_tokens = 0)))
        then 'tokens'
    end;
    if what is not null then
      return json_build_object('exceeded', what, 'budget', row_to_json(b));
    end if;
  end loop;
  with taken as (
    insert into budget_hold (run_id, key, subject_id, cost_usd, tokens, invocations)
    select p_run, p_key, c.subject_id, coalesce(p_cost, 0), p_tokens,
           case when counts_call(c, p_agent) then 1 else 0 end
      from budget c where c.subject_id = any(bearers)
    returning *
  )
  update budget c
     set held_cost_usd = c.held_cost_usd + t.cost_usd, held_tokens = c.held_tokens + t.tokens,
         held_invocations = c.held_invocations + t.invocations
    from taken t where c.subject_id = t.subject_id;
  get diagnostics held = row_count;
  return json_build_object('held', held);
end $$;
