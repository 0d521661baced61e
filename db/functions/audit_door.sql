-- Trigger of the audit log: `door` is the name that copies of the release before use for `via`.
create or replace function audit_door() returns trigger
language plpgsql as $$
begin
  new.via := coalesce(new.via, new.door);
  new.door := new.via;
  return new;
end
$$;
