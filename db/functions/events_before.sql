-- A page of a run's log, newest first, of the events after one and before another (null: the end), as
-- `events_after`.
create or replace function events_before(
  p_run uuid, p_before int, p_after int, p_levels text[], p_task text, p_limit int
) returns setof run_event
language plpgsql stable rows 20 set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  return query
  select * from run_event e
   where e.run_id = p_run and e.seq > p_after and e.seq < coalesce(p_before, 2147483647)
     and (p_levels is null or e.level = any(p_levels)) and (p_task is null or e.task = p_task)
   order by e.seq desc limit p_limit;
end $$;
