-- Trigger of human tasks: keeps what lists search in a row of its own. A task changes often, its text does
-- not, and an index of words is dear to change. Of a description its beginning suffices to find the task.
create or replace function keep_task_text() returns trigger
language plpgsql as $$
begin
  insert into hitl_task_text (task_id, text)
  values (new.id, concat_ws(' ', left(new.title, 4096), left(new.description, 16384), left(new.task_name, 4096),
                            left(new.workflow_name, 4096)))
  on conflict (task_id) do update set text = excluded.text;
  return null;
end $$;
