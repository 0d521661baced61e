-- The events of runs whose rows are removed, in place of a foreign key of the log, which would cost each append
-- and hinder the removal of a partition. Retention sets `cadenza.leaves_logs` and sees to the events itself
-- (domain/retention/remove.ts). One plan: the partition follows from the run's id.
create or replace function remove_run_log() returns trigger
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  run_gone uuid;
begin
  if current_setting('cadenza.leaves_logs', true) = 'on' then
    return null;
  end if;
  for run_gone in select g.id from gone g loop
    delete from run_event e where e.run_id = run_gone;
  end loop;
  return null;
end $$;
