-- Whose objects somebody uses: their own, and those of the teams where they are builders. `principal` is a
-- user or a team; a team uses its own only.
create or replace function rights_held(principal uuid) returns uuid[]
language sql stable as $$
  select array_append(
    array(select m.team_id from team_member m
           where m.user_id = principal and m.role in ('builder', 'admin')), principal);
$$;
