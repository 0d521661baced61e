import { Migration } from '@mikro-orm/migrations';

/** Requests of the device flow (RFC 8628), and sessions that were opened without a password. */
export class Migration202611221145DeviceLogIn extends Migration {
  override up(): void {
    this.addSql('alter table auth_session add column by_password boolean not null default true');
    this.addSql(`
      create table device_request (
        id uuid primary key,
        device_code_hash bytea not null unique,
        -- Keyed, because a user code is short enough to be guessed from a plain hash.
        user_code_hash text not null unique,
        network text not null,
        address text not null,
        user_agent text not null,
        created_at timestamptz not null default clock_timestamp(),
        expires_at timestamptz not null,
        polled_at timestamptz,
        interval_seconds int not null,
        status text not null default 'pending' check (status in ('pending', 'approved', 'denied', 'used')),
        -- Who decided, and their token_epoch then: a password that is changed since ends the approval too.
        user_id uuid references user_account (id) on delete cascade,
        token_epoch int,
        session_id uuid references auth_session (id) on delete cascade
      )`);
    this.addSql('create index device_request_expiry on device_request (expires_at)');
    this.addSql('create index device_request_network on device_request (network, expires_at)');
    this.addSql('create index device_request_user on device_request (user_id)');
    this.addSql('create index device_request_session on device_request (session_id)');
  }
}
