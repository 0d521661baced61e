-- Runs, their log, and what they keep. `json` where the order of keys belongs to the user's data, `jsonb`
-- where we look inside.

create table run (
  id uuid primary key,
  -- Null for the run of an agent by itself.
  workflow_id uuid references workflow (id),
  workflow_revision int,
  workflow_name text not null,
  definition json not null,
  status text not null,
  -- Of the newest status that the workflow has reported: an older one, which comes late, is left out.
  projection_counter bigint not null default 0,
  -- The first hundred things that it waits for; `waiting_count` counts all.
  waiting_on jsonb not null default '[]',
  input json,
  output json,
  error json,
  owner_id uuid not null references user_account (id),
  parent_run_id uuid references run (id),
  parent_task text,
  root_run_id uuid not null,
  -- A run that was retried may be removed before its retry.
  retry_of uuid references run (id) on delete set null,
  agent_id uuid,
  usage jsonb not null default '{}',
  -- The number of its last event.
  last_seq int not null default 0,
  -- Not used any more: the run's first event has it.
  temporal_run_id text,
  start_attempts int not null default 0,
  next_start_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  finished_at timestamptz,
  -- A child run that its parent does not wait for (`await: false`), and which does not end with it.
  detached boolean not null default false,
  -- Who took part in starting it: its first owner, and the initiators of the run that it is a child of, goes
  -- on from, or was asked for by. Written once, so retries, nesting and a change of owner shed nobody.
  initiator_ids uuid[] not null default '{}',
  -- On the root: of its whole tree of runs. Events and tasks are added in steps of 64.
  tree_runs int not null default 0,
  tree_events bigint not null default 0,
  tree_tasks bigint not null default 0,
  task_count int not null default 0,
  waiting_count int not null default 0
);
create index run_owner on run (owner_id, id desc);
create index run_workflow on run (workflow_id, id desc);
create index run_parent on run (parent_run_id) where parent_run_id is not null;
create index run_retry_of on run (retry_of) where retry_of is not null;
create index run_agent on run (agent_id, id desc) where agent_id is not null;
create index run_status on run (status, id desc);
create index run_pending on run (next_start_at) where status = 'pending';
create index run_live on run (id) where status in ('running', 'waiting', 'suspended');
create index run_live_owner on run (owner_id) where status in ('pending', 'running', 'waiting', 'suspended');
create index run_finished on run (finished_at) where finished_at is not null;
create trigger run_ended after update of status on run for each row
  when (new.status in ('cancelled', 'faulted') and new.status <> old.status)
  execute function notify_ended_call();

-- The version of each agent that a run uses, as it was at the start.
create table run_pin (
  run_id uuid not null references run (id) on delete cascade,
  -- How the definition names the agent.
  reference text not null,
  agent_id uuid not null,
  version text not null,
  snapshot json not null,
  primary key (run_id, reference)
);
create index run_pin_agent on run_pin (agent_id, run_id desc);

-- The log of all runs. `seq` is the place in the run's own log. (`tx`, `gpos`) is the place in the log of
-- all, behind which no late commit can slip (docs/adr/0004). `key` makes a repeat harmless.
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

-- The tasks of a run, folded from its events. `reference` is the task's place in the definition, `visit`
-- counts the times that the run came to it.
create table run_task (
  run_id uuid not null references run (id) on delete cascade,
  reference text not null,
  visit int not null,
  -- Of the event that it started with.
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
create index run_task_child on run_task (child_run_id)
  where child_run_id is not null and status in ('running', 'waiting');
create trigger run_task_ended after update of status on run_task for each row
  when (new.status in ('cancelled', 'faulted') and new.status <> old.status
        and new.type in ('agent', 'http', 'call'))
  execute function notify_ended_call();

-- The outbox of signals to runs: sent after the commit, and again until the run says that it has received
-- them (docs/adr/0005).
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

-- Where a faulted run stood, for its retry.
create table run_checkpoint (
  run_id uuid primary key references run (id) on delete cascade,
  state json not null
);

-- Calls of agents, claimed before they are made, so that a repeat knows of the first.
create table invocation (
  run_id uuid not null references run (id) on delete cascade,
  key text not null,
  agent_id uuid,
  agent_version text,
  claimed_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  result json,
  error json,
  -- What a call that outlives its worker leaves for its repeat, such as the id of the task that it has begun
  -- elsewhere.
  progress json,
  primary key (run_id, key)
);

-- Runs whose workflow task fails again and again, as the reconciler found them: a row for each, as long as it
-- lasts.
create table run_stuck (
  run_id uuid primary key references run (id) on delete cascade,
  since timestamptz not null default clock_timestamp(),
  attempts int not null,
  checked_at timestamptz not null default clock_timestamp()
);

-- Large values of Temporal histories, by the digest of their content. The bytes are here, or in the file
-- store under `file_id`.
create table temporal_payload (
  digest text primary key,
  data bytea,
  used_at timestamptz not null default clock_timestamp(),
  file_id uuid,
  -- The key that has encrypted it: its digest does not say, and it may have moved under another key since.
  key_id text,
  constraint temporal_payload_place check ((data is null) <> (file_id is null))
);
create index temporal_payload_used on temporal_payload (used_at);
create unique index temporal_payload_file on temporal_payload (file_id) where file_id is not null;
create index temporal_payload_key on temporal_payload (key_id);

-- What each call of an agent has used. It outlives the run.
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
