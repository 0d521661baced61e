-- Users, how they log in, and what is counted of their requests.

create table user_account (
  id uuid primary key,
  username text not null,
  email text not null,
  display_name text,
  password_hash text not null,
  roles text[] not null,
  groups text[] not null default '{}',
  status text not null default 'active' check (status in ('active', 'disabled')),
  -- Tokens carry it; raising it makes those issued before invalid.
  token_epoch int not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index user_account_username on user_account (lower(username));
create unique index user_account_email on user_account (lower(email));

-- A machine client: it acts as the user it belongs to.
create table auth_client (
  id uuid primary key,
  user_id uuid not null references user_account (id) on delete cascade,
  name text not null,
  secret_hash text not null,
  created_at timestamptz not null default now(),
  last_used timestamptz,
  expires_at timestamptz not null default now() + interval '90 days'
);
create index auth_client_user on auth_client (user_id, id);
create index auth_client_expiry on auth_client (expires_at);

create table auth_session (
  id uuid primary key,
  user_id uuid not null references user_account (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index auth_session_user on auth_session (user_id);
create index auth_session_expiry on auth_session (expires_at);

-- Each is used once: a second use shows that somebody else has it.
create table refresh_token (
  id uuid primary key,
  session_id uuid not null references auth_session (id) on delete cascade,
  token_hash bytea not null unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index refresh_token_session on refresh_token (session_id);

-- Failed log-ins, by account and by address.
create table login_attempt (
  id uuid primary key,
  account text not null,
  address text not null,
  at timestamptz not null default clock_timestamp()
);
create index login_attempt_account on login_attempt (account, at);
create index login_attempt_address on login_attempt (address, at);
create index login_attempt_at on login_attempt (at);

-- Keys that sign access tokens.
create table signing_key (
  kid text primary key,
  public_jwk jsonb not null,
  private_key_encrypted text not null,
  created_at timestamptz not null default clock_timestamp()
);

-- The answer to a request with an `Idempotency-Key`, for its repeats.
create table idempotency_record (
  user_id uuid not null references user_account (id) on delete cascade,
  method text not null,
  path text not null,
  key text not null,
  -- Of the request: a repeat with another body is refused.
  fingerprint text not null,
  status int not null,
  headers jsonb not null,
  body text,
  expires_at timestamptz not null,
  primary key (user_id, method, path, key)
);
create index idempotency_record_expiry on idempotency_record (expires_at);

-- Requests of a user in a minute, where a limit is configured. Losing it in a crash costs nothing, so it is
-- not logged.
create unlogged table request_count (
  user_id uuid not null,
  minute timestamptz not null,
  requests int not null,
  primary key (user_id, minute)
);
create index request_count_minute on request_count (minute);

-- Requests without a token of an address in a minute; not logged either.
create unlogged table address_request_count (
  address text not null,
  minute timestamptz not null,
  requests int not null,
  primary key (address, minute)
);
create index address_request_count_minute on address_request_count (minute);
