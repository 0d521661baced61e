-- Whether a task of this status has started and not ended: `UNFINISHED_TASK_STATUSES` in
-- contracts/run-events.ts.
create or replace function run_task_is_unfinished(status text) returns boolean
language sql immutable as $$
  select status in ('running', 'waiting', 'suspended')
$$;
