-- Makes the partition of the log for the ids from `p_from` to before `p_to` (db/log-partitions.ts). False if it
-- is there already, or if more than `p_move` events with such ids are in the default partition, where they then
-- stay. Only the default partition is locked. Runs with the owner's rights, so the role of the application
-- needs none to create.
create or replace function make_log_partition(p_name text, p_from uuid, p_to uuid, p_move int) returns boolean
language plpgsql security definer
set search_path from current set lock_timeout = '250ms' set enable_seqscan = off as $$
begin
  if p_name !~ '^run_event_\d{4,5}_\d\d$' then
    raise exception 'no name of a partition: %', p_name;
  end if;
  -- Waits for other copies that do the same.
  lock table run_event_default in access exclusive mode;
  if to_regclass(quote_ident(p_name)) is not null
     or (select count(*) > p_move
           from (select from run_event_default e
                  where e.run_id >= p_from and e.run_id < p_to limit p_move + 1) found) then
    return false;
  end if;
  execute format('create table %I (like run_event including defaults including storage including compression)',
                 p_name);
  execute format(
    'with moved as (delete from run_event_default where run_id >= $1 and run_id < $2 returning *)
     insert into %I select * from moved', p_name) using p_from, p_to;
  execute format('alter table run_event attach partition %I for values from (%L) to (%L)',
                 p_name, p_from, p_to);
  return true;
end $$;
