-- Of these people, given as ids in JSON, those who have not voted on the human task, also not through a deputy.
create or replace function without_voters(p_task uuid, p_people json) returns json
language sql stable as $$
  select coalesce(json_agg(p.id), '[]')
    from json_array_elements_text(p_people) p (id)
   where not exists (select from hitl_vote v
                      where v.task_id = p_task and p.id::uuid in (v.voted_by, v.in_place_of))
$$;
