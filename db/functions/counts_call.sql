-- Whether a budget counts a call of this agent. That of an agent counts its own calls, and bears what the
-- calls in its runs cost.
create or replace function counts_call(p_budget budget, p_agent uuid) returns boolean
language sql immutable as $$
  select p_budget.subject <> 'agent' or p_budget.subject_id = p_agent
$$;
