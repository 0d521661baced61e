import { Migration } from '@mikro-orm/migrations';

/**
 * Runs and their log. `json` where the order of keys belongs to the user's data, `jsonb` where we look inside.
 * `run_event.tx` with `gpos` is the global position that late commits cannot slip behind.
 */
export class Migration0004Runs extends Migration {
  override up(): void {
    this.addSql(`
create table run (
  id uuid primary key,
  workflow_id uuid references workflow (id),
  workflow_revision int,
  workflow_name text not null,
  definition json not null,
  status text not null,
  projection_counter bigint not null default 0,
  waiting_on jsonb not null default '[]',
  input json,
  output json,
  error json,
  owner_id uuid not null references user_account (id),
  parent_run_id uuid references run (id),
  parent_task text,
  root_run_id uuid not null,
  retry_of uuid references run (id),
  agent_id uuid,
  usage jsonb not null default '{}',
  last_seq int not null default 0,
  temporal_run_id text,
  start_attempts int not null default 0,
  next_start_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  finished_at timestamptz
);
create index run_owner on run (owner_id, id desc);
create index run_workflow on run (workflow_id, id desc);
create index run_parent on run (parent_run_id) where parent_run_id is not null;
create index run_retry_of on run (retry_of) where retry_of is not null;
create index run_agent on run (agent_id, id desc) where agent_id is not null;
create index run_status on run (status, id desc);
create index run_pending on run (next_start_at) where status = 'pending';
create index run_live on run (id) where status in ('running', 'waiting', 'suspended');

create table run_pin (
  run_id uuid not null references run (id) on delete cascade,
  reference text not null,
  agent_id uuid not null,
  version text not null,
  snapshot json not null,
  primary key (run_id, reference)
);
create index run_pin_agent on run_pin (agent_id, run_id desc);

create table run_event (
  run_id uuid not null references run (id) on delete cascade,
  seq int not null,
  key text not null,
  type text not null,
  at timestamptz not null,
  level text not null,
  task text,
  message text not null,
  data json not null,
  tx xid8 not null default pg_current_xact_id(),
  gpos bigint generated always as identity,
  primary key (run_id, seq),
  unique (run_id, key)
);
create index run_event_position on run_event (tx, gpos);

create table run_task (
  run_id uuid not null references run (id) on delete cascade,
  reference text not null,
  visit int not null,
  seq int not null,
  name text not null,
  type text not null,
  status text not null,
  attempt int not null default 1,
  started_at timestamptz not null,
  finished_at timestamptz,
  agent_id uuid,
  agent_version text,
  hitl_task_id uuid,
  child_run_id uuid,
  usage jsonb,
  error json,
  primary key (run_id, reference, visit)
);
create index run_task_order on run_task (run_id, seq);

create table run_signal (
  id uuid primary key,
  run_id uuid not null references run (id) on delete cascade,
  kind text not null,
  payload json not null,
  by_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  delivered_at timestamptz,
  received_at timestamptz,
  attempts int not null default 0,
  next_at timestamptz not null default clock_timestamp()
);
create index run_signal_run on run_signal (run_id);
create index run_signal_open on run_signal (next_at) where received_at is null;

create table run_checkpoint (
  run_id uuid primary key references run (id) on delete cascade,
  state json not null
);

create table invocation (
  run_id uuid not null references run (id) on delete cascade,
  key text not null,
  agent_id uuid,
  agent_version text,
  claimed_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  result json,
  error json,
  primary key (run_id, key)
);

create table temporal_payload (
  digest text primary key,
  data bytea not null,
  used_at timestamptz not null default clock_timestamp()
);
create index temporal_payload_used on temporal_payload (used_at);

create table usage_record (
  id uuid primary key,
  at timestamptz not null default clock_timestamp(),
  run_id uuid not null,
  user_id uuid not null references user_account (id),
  agent_id uuid,
  agent_version text,
  usage jsonb not null
);
create index usage_record_user on usage_record (user_id, at);
create index usage_record_run on usage_record (run_id);
`);
  }
}
