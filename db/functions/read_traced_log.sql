-- A page of the log of all runs for traces, as `read_log`: the context of each event's run, and the visit of the
-- task that an event of `p_ends` has ended.
create or replace function read_traced_log(p_tx xid8, p_gpos bigint, p_limit int, p_ends text[])
returns table (oldest text, tx text, gpos text, run_id uuid, type text, task text, traceparent text, visit int)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
  return query
  with now as materialized (select oldest_open_transaction() as oldest)
  select now.oldest::text, p.tx::text, p.gpos::text, p.run_id, p.type, p.task, p.traceparent, p.visit
    from now left join lateral (
      select e.tx, e.gpos, e.run_id, e.type, e.task, r.traceparent,
             case when e.type = any(p_ends) and r.traceparent is not null
                  then (e.data ->> 'visit')::int end as visit
        from run_event e join run r on r.id = e.run_id
       where (e.tx, e.gpos) > (p_tx, p_gpos) and e.tx < now.oldest
       order by e.tx, e.gpos limit p_limit
    ) p on true
   order by p.tx, p.gpos;
end $$;
