-- Whether a user, a team or the platform has room for one more live run, far from `p_live`; for
-- `hold_run_quota`, under its shared lock. A count reads all live runs, so where there are many, it also
-- grants its connection room for some starts without one. Whoever counts takes what is granted as used, one
-- count at a time grants, and no grant is larger than `largest`: so what a count does not see are starts under
-- way, one for each connection, and one grant (docs/adr/0063-quotas-counted-from-rows.md).
create or replace function has_run_room(p_scope text, p_id uuid, p_live bigint) returns boolean
language plpgsql set enable_seqscan = off as $$
declare
  -- Of live runs: fewer are counted faster than room is written.
  many constant bigint := 1000;
  largest bigint := least(1000, p_live / 64);
  most bigint := p_live - current_setting('max_connections')::bigint - largest;
  own_stripe smallint := pg_backend_pid() % 64;
  may_grant boolean;
  counted bigint;
  granted bigint;
begin
  if most <= 0 then
    return false;
  end if;
  update live_run_room set room = room - 1
   where holder_id = p_id and stripe = own_stripe and live_runs = p_live and room > 0;
  if found then
    return true;
  end if;
  may_grant := pg_try_advisory_xact_lock(hashtextextended('run room ' || p_id, 0));
  -- In one statement, so that a start is either still granted or counted.
  select count_live_runs(p_scope, p_id, most + 1),
         coalesce((select sum(room) from live_run_room where holder_id = p_id), 0)
    into counted, granted;
  if counted + granted > most then
    return false;
  end if;
  if may_grant and counted >= many then
    insert into live_run_room as r (holder_id, stripe, live_runs, room, granted_at)
    values (p_id, own_stripe, p_live, least(largest, (most - counted - granted) / 2), clock_timestamp())
    on conflict (holder_id, stripe) do update
       set live_runs = excluded.live_runs, room = excluded.room, granted_at = excluded.granted_at;
  end if;
  return true;
end $$;
