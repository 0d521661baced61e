import { Migration } from '@mikro-orm/migrations';

/** What a named set of resources has made (`POST /apply`). */
export class Migration202611221520AppliedResources extends Migration {
  override up(): void {
    this.addSql(`
      create table applied_resource (
        id uuid primary key,
        owner_id uuid not null references user_account (id) on delete cascade,
        set_name text not null,
        kind text not null check (kind in ('agent', 'workflow', 'webhook')),
        -- Identifies the resource in its set, whatever the record is called by now.
        name text not null,
        resource_id uuid not null,
        applied_by uuid not null references user_account (id) on delete cascade,
        applied_at timestamptz not null default clock_timestamp(),
        -- When the resource was pruned.
        archived_at timestamptz,
        unique (owner_id, set_name, kind, name)
      )`);
    this.addSql('create index applied_resource_resource on applied_resource (resource_id)');
    this.addSql('create index applied_resource_by on applied_resource (applied_by)');
  }
}
