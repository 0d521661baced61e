-- The live runs of a user, a team or the platform, counted up to `p_most`: those that the statement sees that
-- calls it. Statements of a volatile function see what was committed until they began, also while the one that
-- calls the function has waited.
create or replace function count_live_runs(p_scope text, p_id uuid, p_most bigint) returns bigint
language plpgsql stable set enable_seqscan = off as $$
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
