-- Trigger of the audit log, its seals and the notes of removed entries: nobody changes or removes a row. Only
-- entries may go, in the transaction that has noted their removal (`note_audit_removal`), and only if they are
-- as old as the note says.
create or replace function audit_refuse() returns trigger
language plpgsql set search_path from current as $$
begin
  if tg_op = 'DELETE' and tg_table_name = 'audit_entry' then
    if exists (
      select from (select r.tx, r.removed_at, r.days from audit_removal r order by r.no desc limit 1) note
       where note.tx = pg_current_xact_id()
         and old.at < note.removed_at - make_interval(days => note.days)) then
      return old;
    end if;
  end if;
  raise exception 'the audit log is append-only' using errcode = 'restrict_violation';
end
$$;
