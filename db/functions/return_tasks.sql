-- Trigger of user_account: whoever's account has ended gives back human tasks, which the reconciler does
-- (domain/hitl/return-tasks.ts). Beginning again with the first task is harmless.
create or replace function return_tasks() returns trigger
language plpgsql as $$
begin
  insert into task_return (user_id) values (new.id)
  on conflict (user_id) do update set after_id = null, due_at = clock_timestamp();
  return null;
end $$;
