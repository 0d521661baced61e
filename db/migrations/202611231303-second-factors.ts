import { Migration } from '@mikro-orm/migrations';

/** Second factors (TOTP, passkeys, recovery codes), and how long sessions live. */
export class Migration202611231303SecondFactors extends Migration {
  override up(): void {
    // True from the first second factor on.
    this.addSql(`alter table user_account add column second_factor boolean not null default false`);
    this.addSql(`
      create table user_totp (
        user_id uuid not null primary key references user_account on delete cascade,
        secret_encrypted text not null,
        confirmed_at timestamptz,
        last_step bigint not null default 0,
        created_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql(`
      create table passkey (
        id uuid not null primary key,
        user_id uuid not null references user_account on delete cascade,
        credential_id text not null unique,
        public_key bytea not null,
        counter bigint not null,
        transports text[] not null,
        name text not null,
        created_at timestamptz not null default clock_timestamp(),
        last_used_at timestamptz
      )`);
    this.addSql(`create index passkey_user on passkey (user_id, id)`);
    this.addSql(`
      create table recovery_code (
        user_id uuid not null references user_account on delete cascade,
        code_hash bytea not null,
        used_at timestamptz,
        primary key (user_id, code_hash)
      )`);
    // Of a log-in whose password was right, or of a passkey that is to sign; used once.
    this.addSql(`
      create table auth_challenge (
        id uuid not null primary key,
        user_id uuid references user_account on delete cascade,
        purpose text not null check (purpose in ('log_in', 'passkey', 'register', 'step_up')),
        token_hash bytea not null unique,
        challenge text,
        expires_at timestamptz not null,
        used_at timestamptz
      )`);
    this.addSql(`create index auth_challenge_user on auth_challenge (user_id)`);
    this.addSql(`create index auth_challenge_expiry on auth_challenge (expires_at)`);
    // verified_at: when its user last showed a password or a second factor again.
    this.addSql(`
      alter table auth_session add column verified_at timestamptz,
        add column idle_seconds int not null default 2592000,
        add column ends_at timestamptz not null default now() + interval '90 days',
        add column awaits_second_factor boolean not null default false`);
  }
}
