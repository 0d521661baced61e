-- Trigger of runs that get another owner or team, and of holders whose quotas change: the next start counts
-- again (`has_run_room`).
create or replace function forget_run_room() returns trigger
language plpgsql set enable_seqscan = off as $$
begin
  if tg_table_name = 'run' then
    -- In the order of `admit_run`.
    if new.owner_id is distinct from old.owner_id then
      delete from live_run_room where holder_id = new.owner_id;
    end if;
    if new.team_id is distinct from old.team_id then
      delete from live_run_room where holder_id = new.team_id;
    end if;
  else
    delete from live_run_room where holder_id = new.id;
  end if;
  return null;
end $$;
