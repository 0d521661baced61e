-- Whether a run of this status counts as a live one: `LIVE_STATUSES` in contracts/run-events.ts.
create or replace function run_is_live(status text) returns boolean
language sql immutable as $$
  select status in ('pending', 'running', 'waiting', 'suspended')
$$;
