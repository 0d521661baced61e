import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/**
 * Notes of the entries that were removed from the audit log after their time, in a chain of their own. The
 * log noted them as entries `audit_prune`, which whoever writes the log could add; those that fit the seals
 * become the first notes. Copies of the release before go on to write and read such entries.
 */
export class Migration202611290108AuditRemovals extends Migration {
  override up(): void {
    this.addSql(`
      create table audit_removal (
        no bigint primary key,
        -- The entries of the seals from this one to the last one were removed.
        first_seal bigint not null,
        last_seal bigint not null,
        -- Of the last one.
        seal_hash bytea not null,
        -- All entries were older than so many days.
        days int not null,
        removed_at timestamptz not null,
        previous_hash bytea not null,
        hash bytea not null,
        tx xid8 not null default pg_current_xact_id()
      )`);
    this.addSql(readFunctionFile('hash_audit_removal').sql);
    this.addSql(FORMER_NOTES);
    this.addSql(readFunctionFile('note_audit_removal').sql);
    this.addSql(`
      create trigger audit_removal_noted before insert on audit_removal
        for each row execute function note_audit_removal()`);
    this.addSql(readFunctionFile('audit_refuse').sql);
    this.addSql(`
      create trigger audit_removal_append_only before update or delete on audit_removal
        for each row execute function audit_refuse()`);
    this.addSql(`
      create trigger audit_removal_not_truncated before truncate on audit_removal
        for each statement execute function audit_refuse()`);
    this.addSql(readFunctionFile('prune_audit').sql);
  }
}

/** What does not fit is no note: the check of the log then finds that its entries are missing. */
const FORMER_NOTES = `
do $$
declare
  entry record;
  note audit_removal;
begin
  note.last_seal := 0;
  note.hash := decode(repeat('00', 32), 'hex');
  note.no := 0;
  note.tx := pg_current_xact_id();
  for entry in
    select e.at, s.no as seal, s.hash, (e.data ->> 'days')::int as days
      from audit_entry e
      join audit_seal s on s.no::text = e.object_id and encode(s.hash, 'hex') = e.data ->> 'hash'
     where e.action = 'audit_prune' and e.data ->> 'days' ~ '^[0-9]{2,5}$'
     order by e.id
  loop
    continue when entry.seal <= note.last_seal or entry.days < 30 or exists (
      select from audit_seal s
       where s.no > note.last_seal and s.no <= entry.seal
         and s.newest_at >= entry.at - make_interval(days => entry.days));
    note.no := note.no + 1;
    note.first_seal := note.last_seal + 1;
    note.last_seal := entry.seal;
    note.seal_hash := entry.hash;
    note.days := entry.days;
    note.removed_at := entry.at;
    note.previous_hash := note.hash;
    note.hash := hash_audit_removal(note);
    insert into audit_removal select note.*;
  end loop;
end
$$`;
