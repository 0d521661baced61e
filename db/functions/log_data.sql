-- The data of the event of a run that has this key; null if there is none. With one plan for each connection:
-- in a query that is planned anew, the log is planned with all its partitions.
create or replace function log_data(p_run uuid, p_key text) returns json
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  return (select e.data from run_event e where e.run_id = p_run and e.key = p_key);
end $$;
