-- Whether the user can decide a human task with these columns as somebody whom it is for, or as an admin, as
-- far as that depends on the user's account, roles, groups and teams now: `refusalToAct` in
-- domain/hitl/policy.ts without the state of the task, deputies and initiators. Who cannot, holds nothing of it.
create or replace function may_act_on_task(
  p_user uuid, p_principals text[], p_delegates jsonb, p_team uuid, p_excluded text[]
) returns boolean
language plpgsql stable set enable_seqscan = off as $$
declare
  person record;
  own text[];
  words text[];
  teams text[];
begin
  select username, roles, groups into person from user_account where id = p_user and status = 'active';
  if not found then
    return false;
  end if;
  own := array['id:' || p_user, 'name:' || lower(person.username)];
  words := array(select 'group:' || g from unnest(person.groups) g);
  if p_excluded && (own || words) then
    return false;
  end if;
  if 'admin' = any(person.roles) then
    return true;
  end if;
  -- Roles are cumulative.
  words := words || case
    when 'builder' = any(person.roles) then '{role:viewer,role:approver,role:builder}'::text[]
    when 'approver' = any(person.roles) then '{role:viewer,role:approver}'
    when 'viewer' = any(person.roles) then '{role:viewer}'
    else '{}' end;
  words := words || case when p_delegates ->> p_user::text = 'candidate' then own[2:] else own end;
  if 'role:approver' = any(words) and p_principals && words then
    return true;
  end if;
  teams := array(select 'team:' || m.team_id from team_member m
                  where m.user_id = p_user and m.role <> 'viewer');
  return p_principals && teams
    or p_team is not null and 'team:' || p_team = any(teams) and p_principals && words;
end $$;
