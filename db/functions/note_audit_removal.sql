-- Trigger of `audit_removal`: whoever inserts a note says up to which seal, and after how many days; the rest
-- is computed here. Refuses what follows no seal, and seals with an entry that is not so old yet.
create or replace function note_audit_removal() returns trigger
language plpgsql set search_path from current as $$
declare
  former audit_removal;
  seals bigint;
  newest timestamptz;
begin
  select * into former from audit_removal r order by r.no desc limit 1;
  new.no := coalesce(former.no, 0) + 1;
  new.first_seal := coalesce(former.last_seal, 0) + 1;
  new.previous_hash := coalesce(former.hash, decode(repeat('00', 32), 'hex'));
  new.removed_at := now();
  new.tx := pg_current_xact_id();
  select count(*), max(s.newest_at) into seals, newest
    from audit_seal s where s.no >= new.first_seal and s.no <= new.last_seal;
  select s.hash into new.seal_hash from audit_seal s where s.no = new.last_seal;
  if seals < 1 or seals <> new.last_seal - new.first_seal + 1 then
    raise exception 'seals to remove the entries of are missing' using errcode = 'restrict_violation';
  end if;
  if new.days < 30 or newest >= new.removed_at - make_interval(days => new.days) then
    raise exception 'entries of the audit log are too young to be removed'
      using errcode = 'restrict_violation';
  end if;
  new.hash := hash_audit_removal(new);
  return new;
end
$$;
