-- Whether a user, a team or the platform may have one more run now: fewer than `p_live` live ones, and fewer
-- than `p_rate` started in this minute; 0: no limit. Until the transaction ends, nothing takes the place.
--
-- Far from its limits, which is the rule, nobody waits: each start shares a lock. A connection has at most one
-- start under way, so the starts that a count does not see are fewer than `max_connections`, and while so many
-- places are left, all of them fit. Otherwise, and where a transaction has several starts (`p_several`), the
-- start has the lock alone, when no other is under way, and the count is exact
-- (docs/adr/0063-quotas-counted-from-rows.md).
--
-- The result is {minute}, in which the start counts, or {quota, limit} of what refuses it.
create or replace function hold_run_quota(
  p_scope text, p_id uuid, p_live bigint, p_rate bigint, p_several boolean
) returns jsonb
language plpgsql set enable_seqscan = off as $$
declare
  lock_key bigint := hashtextextended('run ' || p_id, 0);
  margin bigint := current_setting('max_connections');
  here timestamptz;
  started bigint := 0;
begin
  if p_live = 0 and p_rate = 0 then
    return '{}';
  end if;
  if not p_several and (p_live = 0 or p_live > margin) and (p_rate = 0 or p_rate > margin) then
    begin
      perform pg_advisory_xact_lock_shared(lock_key);
      here := date_trunc('minute', clock_timestamp());
      if p_rate > 0 then
        select coalesce(sum(runs), 0) into started from run_rate where holder_id = p_id and minute = here;
      end if;
      if (p_rate = 0 or started <= p_rate - margin)
         and (p_live = 0 or has_run_room(p_scope, p_id, p_live)) then
        return jsonb_build_object('minute', here);
      end if;
      -- Gives the shared lock back: two that want more of it would wait for each other.
      raise exception using errcode = 'CZQ01';
    exception when sqlstate 'CZQ01' then
      null;
    end;
  end if;
  perform pg_advisory_xact_lock(lock_key);
  here := date_trunc('minute', clock_timestamp());
  delete from live_run_room where holder_id = p_id;
  if p_live > 0 and count_live_runs(p_scope, p_id, p_live) >= p_live then
    return jsonb_build_object('quota', 'live_runs', 'limit', p_live);
  end if;
  if p_rate > 0 then
    select coalesce(sum(runs), 0) into started from run_rate where holder_id = p_id and minute = here;
    if started >= p_rate then
      return jsonb_build_object('quota', 'runs_per_minute', 'limit', p_rate);
    end if;
  end if;
  return jsonb_build_object('minute', here);
end $$;
