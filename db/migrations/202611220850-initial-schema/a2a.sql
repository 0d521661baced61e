-- A2A tasks, their messages and push configurations.

-- A task is a run of its agent: it has the run's id, and its events are the run's. The functions that change
-- the run's status keep `state` in step with it.
create table a2a_task (
  id uuid primary key references run (id) on delete cascade,
  agent_id uuid not null references agent (id) on delete cascade,
  owner_id uuid not null references user_account (id),
  context_id text not null,
  state text not null default 'TASK_STATE_SUBMITTED',
  state_at timestamptz not null default clock_timestamp(),
  paused boolean not null default false,
  accepted_output_modes text[] not null default '{}',
  metadata json,
  created_at timestamptz not null default clock_timestamp(),
  -- REST of A2A 0.3 has two dialects, and a GET does not say which: the one of the task's last message.
  proto_dialect boolean not null default true
);
create index a2a_task_list on a2a_task (agent_id, owner_id, state_at desc, id desc);
create index a2a_task_owner on a2a_task (owner_id, id desc);
create index a2a_task_context on a2a_task (context_id, agent_id);

create table a2a_message (
  id uuid primary key,
  task_id uuid not null references a2a_task (id) on delete cascade,
  agent_id uuid not null references agent (id) on delete cascade,
  owner_id uuid not null references user_account (id),
  -- Of a client's message: a repeat of it has the same.
  once_key text,
  -- The number of the run's last event when the message came.
  seq int not null,
  message json not null,
  created_at timestamptz not null default clock_timestamp()
);
create unique index a2a_message_once on a2a_message (owner_id, agent_id, once_key) where once_key is not null;
create index a2a_message_task on a2a_message (task_id, seq, id);
create index a2a_message_agent on a2a_message (agent_id);

create table a2a_push_config (
  task_id uuid not null references a2a_task (id) on delete cascade,
  id text not null,
  url text not null,
  token_encrypted text,
  auth_scheme text,
  auth_credentials_encrypted text,
  wire_version text not null,
  target_id uuid not null references delivery_target (id) on delete cascade,
  created_at timestamptz not null default clock_timestamp(),
  primary key (task_id, id)
);
create index a2a_push_config_target on a2a_push_config (target_id);
