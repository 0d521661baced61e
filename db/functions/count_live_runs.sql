-- The live runs of a user, a team or the platform, counted up to `p_most`. As a function of its own, which is
-- volatile, it sees what was committed until now, also while the statement that calls it has waited.
create or replace function count_live_runs(p_scope text, p_id uuid, p_most bigint) returns bigint
language plpgsql set enable_seqscan = off as $$
begin
  if p_scope = 'user' then
    return (select count(*) from (
              select from run where owner_id = p_id and run_is_live(status) limit p_most) live);
  elsif p_scope = 'team' then
    return (select count(*) from (
              select from run where team_id = p_id and run_is_live(status) limit p_most) live);
  end if;
  return (select count(*) from (select from run where run_is_live(status) limit p_most) live);
end $$;
