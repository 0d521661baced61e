-- What replaces the setting of a quota for a holder, a user or a team; null: the setting counts.
create or replace function quota_of(p_holder uuid, p_name text) returns bigint
language sql stable as $$
  select coalesce((select (quotas ->> p_name)::bigint from team where id = p_holder),
                  (select (quotas ->> p_name)::bigint from user_account where id = p_holder))
$$;
