-- Human tasks, and what people did with them.

-- A person or a group of people is a word: `id:`, `name:`, `role:` or `group:` with its value.
create table hitl_task (
  id uuid primary key,
  run_id uuid not null references run (id) on delete cascade,
  workflow_id uuid,
  workflow_name text not null,
  owner_id uuid not null,
  initiator_id uuid not null,
  -- Its place in the definition.
  task text not null,
  task_name text not null,
  title text not null,
  description text,
  subject json,
  form_schema json,
  decisions jsonb not null,
  status text not null default 'open'
    check (status in ('open', 'claimed', 'decided', 'expired', 'cancelled')),
  priority int not null check (priority between 0 and 100),
  assignee text,
  -- The assignee's word.
  assignee_key text,
  candidates jsonb not null,
  candidate_keys text[] not null,
  -- The words of everybody who may decide, so that one GIN index answers "my tasks".
  principals text[] not null generated always as (
    case when assignee_key is null then candidate_keys else candidate_keys || assignee_key end) stored,
  claimed_by uuid references user_account (id),
  claimed_at timestamptz,
  due_at timestamptz,
  expires_at timestamptz,
  escalation_level int not null default 0,
  quorum jsonb,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  -- `run.initiator_ids` when the task was made.
  initiator_ids uuid[] not null default '{}',
  -- To whom the task may be delegated.
  delegate text not null default 'candidates' check (delegate in ('candidates', 'anyone')),
  -- The word of each person who gave up their own vote, and the id of whom they gave it to.
  delegations jsonb not null default '{}',
  check ((status = 'claimed') <= (claimed_by is not null))
);
create index hitl_task_run on hitl_task (run_id, id);
create index hitl_task_workflow on hitl_task (workflow_id, id) where workflow_id is not null;
create index hitl_task_claimed_by on hitl_task (claimed_by) where claimed_by is not null;
create index hitl_task_queue on hitl_task ((-priority), id) where status in ('open', 'claimed');
create index hitl_task_queue_due on hitl_task (due_at)
  where status in ('open', 'claimed') and due_at is not null;
create index hitl_task_queue_principals on hitl_task using gin (principals)
  where status in ('open', 'claimed');
create index hitl_task_status on hitl_task (status, (-priority), id);
create index hitl_task_principals on hitl_task using gin (principals);

create table hitl_decision (
  id uuid primary key,
  task_id uuid not null unique references hitl_task (id) on delete cascade,
  decision text not null,
  payload json,
  comment text,
  decided_by uuid not null references user_account (id),
  decided_at timestamptz not null,
  -- By which door it came: the API, A2A, …
  via text not null,
  as_admin boolean not null,
  -- How far the run is with it.
  delivered_at timestamptz,
  received_at timestamptz,
  applied_at timestamptz
);
create index hitl_decision_decided_by on hitl_decision (decided_by, decided_at);
create index hitl_decision_unapplied on hitl_decision (received_at) where applied_at is null;

-- Votes of a task with a quorum: one a person.
create table hitl_vote (
  id uuid primary key,
  task_id uuid not null references hitl_task (id) on delete cascade,
  decision text not null,
  payload json,
  comment text,
  voted_by uuid not null references user_account (id),
  voted_at timestamptz not null,
  via text not null,
  as_admin boolean not null,
  unique (task_id, voted_by)
);
create index hitl_vote_voted_by on hitl_vote (voted_by);

create table hitl_comment (
  id uuid primary key,
  task_id uuid not null references hitl_task (id) on delete cascade,
  comment text not null,
  created_by uuid not null references user_account (id),
  created_at timestamptz not null
);
create index hitl_comment_task on hitl_comment (task_id, id);
create index hitl_comment_created_by on hitl_comment (created_by);

-- Who did what, never changed. It refers to nothing: its rows outlive the run.
create table hitl_audit (
  id uuid primary key,
  task_id uuid not null,
  run_id uuid not null,
  at timestamptz not null default clock_timestamp(),
  actor_id uuid,
  actor_name text,
  action text not null,
  via text not null,
  as_admin boolean not null default false,
  data jsonb not null default '{}'
);
create index hitl_audit_task on hitl_audit (task_id, id);
create index hitl_audit_run on hitl_audit (run_id, id);
create index hitl_audit_actor on hitl_audit (actor_id, id) where actor_id is not null;
create trigger hitl_audit_append_only before update or delete on hitl_audit
  for each row execute function hitl_audit_refuse();
create trigger hitl_audit_no_truncate before truncate on hitl_audit
  for each statement execute function hitl_audit_refuse();
