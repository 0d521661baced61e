-- Whose objects somebody uses: their own, those of the teams where they are builders, and what is still being
-- handed over to them. `principal` is a user or a team; a team uses its own only.
create or replace function rights_held(principal uuid) returns uuid[]
language sql stable as $$
  select array(select m.team_id from team_member m
                where m.user_id = principal and m.role in ('builder', 'admin'))
    || array(select t.from_id from transfer t where t.to_id = principal and t.finished_at is null)
    || principal;
$$;
