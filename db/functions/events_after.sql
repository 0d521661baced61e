-- A page of a run's log, oldest first, with one plan for each connection (`log_data`): along the index, however
-- few events the planner takes a run to have. Null as levels or task: all. It ends as that of `read_log`.
create or replace function events_after(
  p_run uuid, p_after int, p_levels text[], p_task text, p_limit int,
  p_bytes bigint default 9223372036854775807
)
returns table (
  seq int, at timestamptz, level text, type text, task text, message text, data json, is_full boolean
)
language plpgsql stable rows 20 set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
  return query
  select p.seq, p.at, p.level, p.type, p.task, p.message, p.data,
         p.nth = p_limit or p.stored_sum >= p_bytes or p.size_sum >= p_bytes
    from (
      select s.*, sum(s.size) over (order by s.seq rows unbounded preceding) as size_sum
        from (
          select l.*, octet_length(l.message) + octet_length(l.data::text) as size
            from (
              select e.seq, e.at, e.level, e.type, e.task, e.message, e.data, row_number() over page as nth,
                     pg_column_size(e.message) + pg_column_size(e.data) as stored,
                     sum(pg_column_size(e.message) + pg_column_size(e.data)) over page as stored_sum
                from run_event e
               where e.run_id = p_run and e.seq > p_after
                 and (p_levels is null or e.level = any(p_levels)) and (p_task is null or e.task = p_task)
              window page as (order by e.seq rows unbounded preceding)
               order by e.seq limit p_limit
            ) l
           where l.stored_sum - l.stored < p_bytes
        ) s
    ) p
   where p.size_sum - p.size < p_bytes
   order by p.seq;
end $$;
