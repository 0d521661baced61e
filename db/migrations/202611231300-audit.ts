import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/** The audit log: entries, and the seals that chain them (docs/audit.md). Both are append-only. */
export class Migration202611231300Audit extends Migration {
  override up(): void {
    this.addSql(`
      create table audit_entry (
        id bigint generated always as identity primary key,
        tx xid8 not null default pg_current_xact_id(),
        at timestamptz not null default clock_timestamp(),
        actor_id uuid,
        actor_name text,
        action text not null,
        outcome text not null check (outcome in ('done', 'refused', 'failed')),
        object_type text,
        object_id text,
        credential text not null,
        credential_id text,
        door text not null,
        address text,
        user_agent text,
        request_id text,
        data jsonb not null default '{}'
      )`);
    this.addSql('create index audit_entry_tx on audit_entry (tx, id)');
    this.addSql('create index audit_entry_at on audit_entry (at, id)');
    this.addSql('create index audit_entry_actor on audit_entry (actor_id, at, id)');
    this.addSql('create index audit_entry_action on audit_entry (action, at, id)');
    this.addSql('create index audit_entry_object on audit_entry (object_id, at, id)');
    this.addSql('create index audit_entry_address on audit_entry (address, at, id)');
    // Entries of transactions from `from_tx` on and before `to_tx`, with ids above `floor_id`.
    this.addSql(`
      create table audit_seal (
        no bigint primary key,
        from_tx xid8 not null,
        to_tx xid8 not null,
        floor_id bigint not null,
        last_id bigint not null,
        entries int not null,
        newest_at timestamptz not null,
        entries_hash bytea not null,
        previous_hash bytea not null,
        hash bytea not null,
        sealed_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql(readFunctionFile('audit_refuse').sql);
    for (const table of ['audit_entry', 'audit_seal']) {
      this.addSql(`
        create trigger ${table}_append_only before update or delete on ${table}
          for each row execute function audit_refuse()`);
      this.addSql(`
        create trigger ${table}_not_truncated before truncate on ${table}
          for each statement execute function audit_refuse()`);
    }
    this.addSql(readFunctionFile('prune_audit').sql);
  }
}
