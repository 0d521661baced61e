-- Before a run is inserted: whether its owner, its team and the platform may have it. `p_limits` has the
-- settings by scope, {user: {live_runs, runs_per_minute}, team, platform, several}; quotas of the user and of
-- the team replace them. A run that another one has started (`p_is_child`) does not count for the minute.
--
-- The result is {counts: [{holder, minute}]}, for `run_rate`, or {quota, scope, limit, own} of what refuses
-- it. Always in the order user, team, platform, so that two starts never wait for each other. The account is
-- held as its reference would hold it at the end: one that was erased owns no new run (`refuse_ended_account`).
create or replace function admit_run(p_owner uuid, p_team uuid, p_is_child boolean, p_limits jsonb)
returns jsonb
language plpgsql set enable_seqscan = off as $$
declare
  holders uuid[] := array[p_owner, p_team, '00000000-0000-0000-0000-000000000000'];
  scopes text[] := array['user', 'team', 'platform'];
  own jsonb;
  erased timestamptz;
  live bigint;
  rate bigint;
  held jsonb;
  counts jsonb := '[]';
begin
  for i in 1..3 loop
    continue when holders[i] is null;
    own := null;
    if i = 1 then
      select quotas, erased_at into own, erased from user_account where id = p_owner for key share;
      if erased is not null then
        raise exception 'the account % has ended', p_owner using errcode = 'CZE01', detail = p_owner::text;
      end if;
    elsif i = 2 then
      select quotas into own from team where id = p_team;
    end if;
    live := coalesce(own -> 'live_runs', p_limits -> scopes[i] -> 'live_runs')::bigint;
    rate := case when p_is_child then 0
                 else coalesce(own -> 'runs_per_minute', p_limits -> scopes[i] -> 'runs_per_minute')::bigint end;
    held := hold_run_quota(scopes[i], holders[i], live, rate, (p_limits -> 'several')::boolean);
    if held -> 'quota' is not null then
      return held || jsonb_build_object('scope', scopes[i],
                                        'own', coalesce(own -> (held ->> 'quota'), 'null') <> 'null');
    end if;
    if rate > 0 then
      counts := counts || jsonb_build_object('holder', holders[i], 'minute', held -> 'minute');
    end if;
  end loop;
  return jsonb_build_object('counts', counts);
end $$;
