-- Trigger of `hitl_audit`: nobody changes or removes an entry.
create or replace function hitl_audit_refuse() returns trigger
language plpgsql as $$
begin
  raise exception 'hitl_audit is append-only' using errcode = 'restrict_violation';
end
$$;
