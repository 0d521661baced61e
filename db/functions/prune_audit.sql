-- Removes the entries of whole seals, oldest first, whose newest entry is older than `days` days (at least
-- 30), and notes that in `audit_removal`: at most `max_seals` seals, and 4,000 entries unless the first seal
-- has more. While a transaction is open, nobody reads or seals what others have written since it began. Runs
-- with the owner's rights, so the role of the application needs none to delete, and cannot note anything else.
-- Returns the last seal whose entries were removed, if there is one. `after_seal` does not count: copies of
-- the release before pass what they believe.
-- After a restore on another server later entries have former numbers of transactions, but higher ids.
create or replace function prune_audit(days int, after_seal bigint, max_seals int)
returns table (seal bigint, hash bytea, entries bigint)
language plpgsql security definer set search_path from current set enable_seqscan = off as $$
declare
  max_entries constant int := 4000;
  kept int := greatest(days, 30);
  through bigint := coalesce((select r.last_seal from audit_removal r order by r.no desc limit 1), 0);
  last_seal bigint;
  last_hash bytea;
  floor bigint;
  ceiling bigint;
  removed bigint;
begin
  select s.no, s.hash, s.floor_id into last_seal, last_hash, floor
    from (select c.no, c.hash, c.floor_id, first_value(c.floor_id) over (order by c.no) as first_floor,
                 row_number() over (order by c.no) = 1 or sum(c.entries) over (order by c.no) <= max_entries
                   as is_within,
                 bool_and(c.newest_at < now() - make_interval(days => kept)) over (order by c.no) as is_old
            from audit_seal c where c.no > through order by c.no limit max_seals) s
   where s.is_old and s.is_within and s.floor_id = s.first_floor order by s.no desc limit 1;
  if last_seal is null then
    return;
  end if;
  if (select l.floor_id from audit_seal l order by l.no desc limit 1) > floor then
    select min(n.floor_id) into ceiling from audit_seal n where n.floor_id > floor;
  end if;
  insert into audit_removal (last_seal, days) values (last_seal, kept);
  delete from audit_entry e using audit_seal s
   where s.no > through and s.no <= last_seal
     and e.tx >= s.from_tx and e.tx < s.to_tx and e.id > s.floor_id and (ceiling is null or e.id <= ceiling);
  get diagnostics removed = row_count;
  return query select last_seal, last_hash, removed;
end
$$;
