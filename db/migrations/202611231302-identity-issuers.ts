import { Migration } from '@mikro-orm/migrations';

/** External issuers of identities, the identities of users, and users without a password. */
export class Migration202611231302IdentityIssuers extends Migration {
  override up(): void {
    this.addSql(`
      create table identity_issuer (
        id uuid primary key,
        name text not null unique,
        title text not null,
        issuer text not null unique,
        client_id text not null,
        client_secret_encrypted text,
        jwks_uri text,
        scopes text[] not null,
        mapping jsonb not null,
        creates_users boolean not null,
        enabled boolean not null,
        from_settings boolean not null default false,
        created_at timestamptz not null default clock_timestamp(),
        updated_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql(`
      create table user_identity (
        id uuid primary key,
        user_id uuid not null references user_account (id) on delete cascade,
        issuer_id uuid not null references identity_issuer (id) on delete cascade,
        subject text not null,
        -- As the issuer names the user, for people only.
        label text,
        -- What the claims of the last log-in gave.
        claim_roles text[] not null default '{}',
        claim_groups text[] not null default '{}',
        created_at timestamptz not null default clock_timestamp(),
        last_log_in_at timestamptz,
        unique (issuer_id, subject),
        unique (user_id, issuer_id)
      )`);
    this.addSql('alter table user_account alter column password_hash drop not null');
    // The issuer that made the account, and decides on its roles.
    this.addSql(`
      alter table user_account
        add column issuer_id uuid references identity_issuer (id) on delete set null`);
    this.addSql('create index user_account_issuer on user_account (issuer_id) where issuer_id is not null');
    this.addSql(`
      alter table auth_session
        add column identity_id uuid references user_identity (id) on delete cascade,
        add column issuer_sid text,
        add column id_token_encrypted text,
        -- When the issuer asked for the credentials; null: when the session began.
        add column authenticated_at timestamptz`);
    this.addSql(
      'create index auth_session_identity on auth_session (identity_id) where identity_id is not null',
    );
  }
}
