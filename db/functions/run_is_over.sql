-- Whether a run of this status has ended: `TERMINAL_STATUSES` in contracts/run-events.ts.
create or replace function run_is_over(status text) returns boolean
language sql immutable as $$
  select status in ('cancelled', 'faulted', 'completed')
$$;
