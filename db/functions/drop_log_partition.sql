-- Drops a partition of the log, with what removed runs have left in it, if none of the runs with its ids is
-- there any more. Appends and readers wait for the drop, which takes milliseconds; it waits for those under way
-- for a quarter of a second, and fails with `lock_not_available`. Whoever adds a run has locked the log before,
-- so none is overlooked. Runs with the owner's rights, so the role of the application needs none to drop.
create or replace function drop_log_partition(p_name text) returns boolean
language plpgsql security definer
set search_path from current set lock_timeout = '250ms' set enable_seqscan = off as $$
declare
  bound text := (select pg_get_expr(c.relpartbound, c.oid)
                   from pg_inherits i join pg_class c on c.oid = i.inhrelid
                  where i.inhparent = 'run_event'::regclass and c.relname = p_name);
  first_id uuid := coalesce(substring(bound from 'FROM \(''([0-9a-f-]{36})''\)')::uuid,
                            '00000000-0000-0000-0000-000000000000');
  end_id uuid := substring(bound from 'TO \(''([0-9a-f-]{36})''\)')::uuid;
begin
  if end_id is null or exists (select from run r where r.id >= first_id and r.id < end_id) then
    return false;
  end if;
  lock table run_event in access exclusive mode;
  if exists (select from run r where r.id >= first_id and r.id < end_id) then
    return false;
  end if;
  execute format('drop table %I', p_name);
  return true;
end $$;
