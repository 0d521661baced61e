import { Migration } from '@mikro-orm/migrations';

/** Users and groups that an issuer provisions (SCIM), its tokens, and its machines. */
export class Migration202611231400Scim extends Migration {
  override up(): void {
    this.addSql(`
      create table scim_token (
        id uuid primary key,
        issuer_id uuid not null references identity_issuer (id) on delete cascade,
        name text not null,
        token_hash bytea not null unique,
        created_by uuid references user_account (id) on delete set null,
        created_at timestamptz not null default clock_timestamp(),
        expires_at timestamptz not null,
        last_used_at timestamptz
      )`);
    this.addSql('create index scim_token_issuer on scim_token (issuer_id, id)');
    this.addSql('create index scim_token_creator on scim_token (created_by)');
    // The claim that has a user's externalId, for the first log-in of somebody who was provisioned.
    this.addSql('alter table identity_issuer add column external_id_claim text');
    this.addSql(`
      alter table user_identity
        alter column subject drop not null,
        add column external_id text,
        add column user_name text,
        -- The resource as it was sent, without what has a column.
        add column scim jsonb,
        add column updated_at timestamptz not null default clock_timestamp(),
        add column removed_at timestamptz`);
    this.addSql(`
      create unique index user_identity_external on user_identity (issuer_id, external_id)
        where external_id is not null`);
    this.addSql(`
      create unique index user_identity_user_name on user_identity (issuer_id, lower(user_name))
        where user_name is not null and removed_at is null`);
    this.#addGroups();
    this.#addMachines();
  }

  #addGroups(): void {
    this.addSql(`
      create table identity_group (
        id uuid primary key,
        issuer_id uuid not null references identity_issuer (id) on delete cascade,
        name text not null,
        external_id text,
        created_at timestamptz not null default clock_timestamp(),
        updated_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql('create unique index identity_group_name on identity_group (issuer_id, lower(name))');
    this.addSql('create index identity_group_list on identity_group (issuer_id, id)');
    this.addSql(`
      create table identity_group_member (
        group_id uuid not null references identity_group (id) on delete cascade,
        user_id uuid not null references user_account (id) on delete cascade,
        primary key (group_id, user_id)
      )`);
    this.addSql('create index identity_group_member_user on identity_group_member (user_id)');
  }

  #addMachines(): void {
    this.addSql(`
      alter table identity_issuer
        add column audiences text[] not null default '{}',
        add column token_types text[] not null default '{at+jwt}'`);
    this.addSql(`
      create table identity_machine (
        id uuid primary key,
        issuer_id uuid not null references identity_issuer (id) on delete cascade,
        user_id uuid not null references user_account (id) on delete cascade,
        name text not null,
        claims jsonb not null,
        created_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql('create index identity_machine_issuer on identity_machine (issuer_id, id)');
    this.addSql('create index identity_machine_user on identity_machine (user_id)');
    // Every api keeps callers for a moment.
    this.addSql(`
      create trigger identity_machine_deleted after delete on identity_machine for each statement
        execute function notify_account_change()`);
    this.addSql(`
      create trigger identity_issuer_changed after update on identity_issuer for each row
        when (old.enabled is distinct from new.enabled or old.audiences is distinct from new.audiences
              or old.token_types is distinct from new.token_types)
        execute function notify_account_change()`);
  }
}
