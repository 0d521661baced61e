-- Trigger of `budget` of agents, workflows and users: keeps the row of `budget` that counts what is used. The
-- counts stay if the limits change. They begin anew if the window does.
create or replace function follow_budget() returns trigger
language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.budget is not null then
      delete from budget where subject_id = old.id;
    end if;
    return null;
  end if;
  if new.budget is null then
    delete from budget where subject_id = new.id;
    return null;
  end if;
  insert into budget as b (subject_id, subject, max_cost_usd, max_tokens, max_invocations, window_length,
                           on_exceed)
  values (new.id, tg_argv[0], (new.budget ->> 'max_cost_usd')::numeric, (new.budget ->> 'max_tokens')::bigint,
          (new.budget ->> 'max_invocations')::bigint, new.budget ->> 'window',
          coalesce(new.budget ->> 'on_exceed', 'stop'))
  on conflict (subject_id) do update
     set max_cost_usd = excluded.max_cost_usd, max_tokens = excluded.max_tokens,
         max_invocations = excluded.max_invocations, on_exceed = excluded.on_exceed,
         window_length = excluded.window_length,
         window_to = case when b.window_length is distinct from excluded.window_length
                          then '-infinity' else b.window_to end;
  return null;
end $$;
