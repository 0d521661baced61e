-- Whether a human task of this status can still be decided: `UNDECIDED` in contracts/hitl.ts.
create or replace function human_task_is_undecided(status text) returns boolean
language sql immutable as $$
  select status in ('open', 'claimed')
$$;
