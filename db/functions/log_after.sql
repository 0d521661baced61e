-- The first event of all runs after a position, with one plan for each connection (`log_data`): the time of it,
-- or null if there is none yet.
create or replace function log_after(p_tx xid8, p_gpos bigint) returns timestamptz
language plpgsql stable set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  return (select e.at from run_event e where (e.tx, e.gpos) > (p_tx, p_gpos) order by e.tx, e.gpos limit 1);
end $$;
