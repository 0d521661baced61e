import { Migration } from '@mikro-orm/migrations';

/** Registered OAuth clients (RFC 7591), their authorization codes, and their sessions. */
export class Migration202611221200OauthClients extends Migration {
  override up(): void {
    this.addSql(`
      create table oauth_client (
        id uuid primary key,
        name text not null,
        client_uri text,
        redirect_uris text[] not null,
        auth_method text not null
          check (auth_method in ('none', 'client_secret_basic', 'client_secret_post')),
        -- Null for public clients.
        secret_hash text,
        network text not null,
        created_at timestamptz not null default clock_timestamp(),
        -- When a user last approved it.
        approved_at timestamptz
      )`);
    this.addSql('create index oauth_client_network on oauth_client (network, created_at)');
    this.addSql('create index oauth_client_created on oauth_client (created_at)');
    this.addSql(`
      alter table auth_session
        add column oauth_client_id uuid references oauth_client (id) on delete cascade,
        -- The highest role that the session may use; null for no limit.
        add column role_limit text`);
    this.addSql(`
      create index auth_session_oauth_client on auth_session (oauth_client_id)
        where oauth_client_id is not null`);
    this.addSql(`
      create table oauth_code (
        code_hash bytea primary key,
        client_id uuid not null references oauth_client (id) on delete cascade,
        user_id uuid not null references user_account (id) on delete cascade,
        -- The user's, and the session that approved: if either ended since, the code is void.
        token_epoch int not null,
        approved_by uuid not null references auth_session (id) on delete cascade,
        redirect_uri text not null,
        code_challenge text not null,
        resource text,
        role_limit text not null,
        expires_at timestamptz not null,
        used_at timestamptz,
        session_id uuid references auth_session (id) on delete cascade
      )`);
    this.addSql('create index oauth_code_client on oauth_code (client_id)');
    this.addSql('create index oauth_code_user on oauth_code (user_id)');
    this.addSql('create index oauth_code_approved_by on oauth_code (approved_by)');
    this.addSql('create index oauth_code_session on oauth_code (session_id)');
    this.addSql('create index oauth_code_expiry on oauth_code (expires_at)');
  }
}
