-- Trigger of `run` and `run_task`, when one is cancelled or faults: tells the workers, so that they end the
-- connections of its calls at once. Temporal itself tells an activity only with the answer to a heartbeat,
-- seconds later.
create or replace function notify_ended_call() returns trigger
language plpgsql as $$
begin
  if tg_table_name = 'run' then
    perform pg_notify('ended_call', new.id::text);
  else
    perform pg_notify('ended_call', new.run_id::text);
  end if;
  return null;
end $$;
