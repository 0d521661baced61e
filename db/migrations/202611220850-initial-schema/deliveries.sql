-- Deliveries to the outside, and events from there.

-- Who gets events: a webhook, or an A2A push configuration.
create table delivery_target (
  id uuid primary key,
  kind text not null,
  owner_id uuid not null references user_account (id),
  run_id uuid references run (id) on delete cascade,
  url text not null,
  -- The types of events that it gets.
  types text[] not null default '{}',
  config json not null default '{}',
  active boolean not null default true,
  disabled_reason text,
  disabled_at timestamptz,
  failures int not null default 0,
  last_ord bigint not null default 0,
  -- When the first pending delivery may be tried; null where nothing is pending.
  due_at timestamptz,
  -- Keeps two workers from trying it at once.
  leased_until timestamptz,
  -- It gets the events of transactions from this one on.
  from_tx xid8 not null default pg_current_xact_id(),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index delivery_target_owner on delivery_target (owner_id, kind, id desc);
create index delivery_target_run on delivery_target (run_id) where run_id is not null;
create index delivery_target_due on delivery_target (due_at) where active and due_at is not null;

create table webhook (
  id uuid primary key references delivery_target (id) on delete cascade,
  description text,
  secret_encrypted text not null
);

-- The outbox: to each target strictly in the order of `ord`.
create table delivery (
  id uuid primary key,
  target_id uuid not null references delivery_target (id) on delete cascade,
  ord bigint not null,
  message_id text not null,
  type text not null,
  run_id uuid references run (id) on delete cascade,
  seq int,
  part int not null default 0,
  content_type text not null,
  body text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempts int not null default 0,
  attempt_log jsonb not null default '[]',
  last_attempt_at timestamptz,
  next_attempt_at timestamptz,
  expires_at timestamptz not null,
  response_status int,
  error text,
  redelivery_of uuid,
  created_at timestamptz not null default clock_timestamp(),
  delivered_at timestamptz,
  unique (target_id, ord)
);
create unique index delivery_event on delivery (target_id, run_id, seq, part) where redelivery_of is null;
create index delivery_pending on delivery (target_id, ord) where status = 'pending';
create index delivery_failed on delivery (target_id, ord) where status = 'failed';
create index delivery_run on delivery (run_id, target_id) where run_id is not null;
create index delivery_created on delivery (created_at);

-- How far the log of all runs has been read: (tx, gpos) of `run_event`.
create table delivery_cursor (
  name text primary key,
  tx xid8 not null,
  gpos bigint not null
);
insert into delivery_cursor (name, tx, gpos) values ('fan_out', pg_current_xact_id(), -1);

-- Events that came in from outside, for the workflows that listen.
create table inbound_event (
  id uuid primary key,
  owner_id uuid not null references user_account (id),
  source text not null,
  event_id text not null,
  type text not null,
  subject text,
  at timestamptz,
  event json not null,
  received_at timestamptz not null default clock_timestamp(),
  unique (owner_id, source, event_id)
);
create index inbound_event_type on inbound_event (type, id);
create index inbound_event_received on inbound_event (received_at);
