-- The human tasks that a run waits for, by id.
create or replace function people_asked(status text, waiting_on jsonb) returns uuid[]
language sql immutable as $$
  select coalesce(array_agg((w ->> 'id')::uuid order by w ->> 'id'), '{}')
    from jsonb_array_elements(waiting_on) w
   where status = 'waiting' and w ->> 'kind' = 'human' and w ->> 'id' is not null
$$;
