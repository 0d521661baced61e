-- The transaction of the newest event of all runs, with one plan for each connection (`log_data`).
create or replace function newest_log_tx() returns xid8
language plpgsql stable set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  return (select e.tx from run_event e order by e.tx desc, e.gpos desc limit 1);
end $$;
