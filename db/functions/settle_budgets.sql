-- After a call: books what it has used in the budgets that hold something for it, each in its window as it is
-- now. `p_tokens` null: what was reserved, of a call whose end nobody has seen. `p_cost` null: nobody knows
-- it. Who deletes the holds books them, hence a call is booked once. `p_key` null: all calls of the run.
create or replace function settle_budgets(p_run uuid, p_key text, p_cost numeric, p_tokens bigint)
returns void
language plpgsql set enable_seqscan = off as $$
declare
  h record;
begin
  if not exists (select from budget_hold where run_id = p_run and (p_key is null or key = p_key)) then
    return;
  end if;
  perform from budget where subject_id in (
    select subject_id from budget_hold where run_id = p_run and (p_key is null or key = p_key)
  ) order by subject_id for no key update;
  for h in
    delete from budget_hold where run_id = p_run and (p_key is null or key = p_key) returning *
  loop
    perform roll_budget(h.subject_id);
    update budget
       set held_cost_usd = held_cost_usd - h.cost_usd, held_tokens = held_tokens - h.tokens,
           held_invocations = held_invocations - h.invocations,
           used_cost_usd = used_cost_usd
             + case when p_tokens is null then h.cost_usd else coalesce(p_cost, 0) end,
           used_tokens = used_tokens + coalesce(p_tokens, h.tokens),
           used_invocations = used_invocations + h.invocations,
           used_unpriced = used_unpriced + case when p_tokens is not null and p_cost is null then 1 else 0 end
     where subject_id = h.subject_id;
  end loop;
end $$;
