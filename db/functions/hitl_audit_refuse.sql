-- Trigger of `hitl_audit`: nobody changes or removes an entry. The erasure of a person's data alone may replace
-- names, of people in `actor_name` and `data`, and says so for its own transaction.
create or replace function hitl_audit_refuse() returns trigger
language plpgsql as $$
begin
  if tg_op = 'UPDATE' and current_setting('cadenza.erases_names', true) = 'on'
     and to_jsonb(new) - array['actor_name', 'data'] = to_jsonb(old) - array['actor_name', 'data']
     and (new.actor_name is null or new.actor_name = old.actor_name) then
    return new;
  end if;
  raise exception 'hitl_audit is append-only' using errcode = 'restrict_violation';
end
$$;
