-- A page of the log of all runs: the events after a position, oldest first, and in each row the oldest open
-- transaction, which the page ends before. Without events it is one row that has only this. `behind` says that
-- open transactions hold back committed events. One statement, so that all of it is from one snapshot.
--
-- A page ends with the event that brings messages and data to `p_bytes`, or with `p_limit` events; `is_full`
-- of its last row tells so, and others may follow. Sizes as stored, which need no reading, bound what is read
-- to tell the others. Copies of the release before give no bytes.
--
-- The page is read again and again, and to plan it takes longer than to read it. So it has one plan for each
-- connection, whatever the position is: from the position on along the index, and the run of each event by its
-- id. As little is known of the position, the planner could otherwise read and sort the whole log.
-- `domain/events/log-reader.ts` has the same for one reader's runs.
create or replace function read_log(
  p_tx xid8, p_gpos bigint, p_limit int, p_bytes bigint default 9223372036854775807
)
returns table (
  oldest text, behind boolean, tx text, gpos text, run_id uuid, seq int, type text, at timestamptz, level text,
  task text, message text, data json, run_owner_id uuid, run_team_id uuid, run_is_child boolean,
  run_is_open boolean, workflow_id uuid, workflow_name text, is_full boolean
)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
  return query
  with now as materialized (
    select s.oldest, coalesce((select h.tx >= s.oldest from run_event h
                                order by h.tx desc, h.gpos desc limit 1), false) as behind
      from (select oldest_open_transaction() as oldest) s
  )
  select now.oldest::text, now.behind, p.tx::text, p.gpos::text, p.run_id, p.seq, p.type, p.at, p.level, p.task,
         p.message, p.data, p.owner_id, p.team_id, p.is_child, p.is_open, p.workflow_id, p.workflow_name,
         p.nth = p_limit or p.stored_sum >= p_bytes or p.size_sum >= p_bytes
    from now left join lateral (
      select s.*, sum(s.size) over (order by s.tx, s.gpos rows unbounded preceding) as size_sum
        from (
          select l.*, octet_length(l.message) + octet_length(l.data::text) as size
            from (
              select e.tx, e.gpos, e.run_id, e.seq, e.type, e.at, e.level, e.task, e.message, e.data,
                     r.owner_id, r.team_id, r.parent_run_id is not null as is_child,
                     not r.by_grant and r.team_id is null
                       or (r.parent_run_id is null or not r.by_grant)
                          and exists (
                            select from workflow w where w.id = r.workflow_id and w.visibility = 'public')
                       as is_open,
                     r.workflow_id, r.workflow_name, row_number() over page as nth,
                     pg_column_size(e.message) + pg_column_size(e.data) as stored,
                     sum(pg_column_size(e.message) + pg_column_size(e.data)) over page as stored_sum
                from run_event e join run r on r.id = e.run_id
               where (e.tx, e.gpos) > (p_tx, p_gpos) and e.tx < now.oldest
              window page as (order by e.tx, e.gpos rows unbounded preceding)
               order by e.tx, e.gpos limit p_limit
            ) l
           where l.stored_sum - l.stored < p_bytes
        ) s
    ) p on p.size_sum - p.size < p_bytes
   order by p.tx, p.gpos;
end $$;
