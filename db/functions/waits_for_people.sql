-- The entries of `waiting_on` that wait for people, if a run of this status waits.
create or replace function waits_for_people(status text, waiting_on jsonb) returns jsonb
language sql immutable as $$
  select coalesce(jsonb_agg(w), '[]')
    from jsonb_array_elements(waiting_on) w
   where status = 'waiting' and w ->> 'kind' = 'human'
$$;
