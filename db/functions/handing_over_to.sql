-- A user, and those whose transfer to them has not ended: what these still have counts for the new owner.
create or replace function handing_over_to(p_user uuid) returns uuid[]
language sql stable as $$
  select array_append(
    array(select t.from_id from transfer t where t.to_id = p_user and t.finished_at is null), p_user);
$$;
