-- Locks a human task for a change: the run's row, then the task's. `now` is the time after the waiting for
-- the locks, `late` whether the task has expired by then.
create or replace function lock_human_task(
  p_run uuid, p_task uuid, out run_status text, out version text, out now text, out late boolean
)
language plpgsql set enable_seqscan = off as $$
declare
  expires timestamptz;
  at timestamptz;
begin
  select r.status into run_status from run r where r.id = p_run for no key update;
  select t.xmin::text, t.expires_at into version, expires
    from hitl_task t where t.id = p_task for no key update;
  -- The time after the waiting.
  at := clock_timestamp();
  now := to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  late := coalesce(expires <= at, false);
end $$;
