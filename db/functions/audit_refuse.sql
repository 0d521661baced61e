-- Trigger of the audit log and its seals: nobody changes or removes a row. `prune_audit` alone may remove old
-- entries, and says so for its own transaction.
create or replace function audit_refuse() returns trigger
language plpgsql as $$
begin
  if tg_op = 'DELETE' and tg_table_name = 'audit_entry'
     and current_setting('cadenza.prunes_audit', true) = 'on' then
    return old;
  end if;
  raise exception 'the audit log is append-only' using errcode = 'restrict_violation';
end
$$;
