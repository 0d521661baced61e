-- Of the claimant of a human task and those who got a vote: who cannot decide it any more, so that they hold
-- nothing of it.
create or replace function lapsed_people(
  p_claimed_by uuid, p_delegations jsonb, p_principals text[], p_delegates jsonb, p_team uuid,
  p_excluded text[]
) returns json
language sql stable as $$
  select coalesce(json_agg(p.id), '[]')
    from (select p_claimed_by as id where p_claimed_by is not null
          union select d.value::uuid from jsonb_each_text(p_delegations) d) p
   where not may_act_on_task(p.id, p_principals, p_delegates, p_team, p_excluded)
$$;
