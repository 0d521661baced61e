import { Migration } from '@mikro-orm/migrations';

/**
 * Human tasks. `principals` holds everybody who may decide, as `id:`, `name:`, `role:` and `group:` words, so that one GIN
 * index answers "my tasks". `hitl_audit` refers to nothing: its rows outlive the run.
 */
export class Migration0005Hitl extends Migration {
  override up(): void {
    this.addSql(`
create table hitl_task (
  id uuid primary key,
  run_id uuid not null references run (id) on delete cascade,
  workflow_id uuid,
  workflow_name text not null,
  owner_id uuid not null,
  initiator_id uuid not null,
  task text not null,
  task_name text not null,
  title text not null,
  description text,
  subject json,
  form_schema json,
  decisions jsonb not null,
  status text not null default 'open' check (status in ('open', 'claimed', 'decided', 'expired', 'cancelled')),
  priority int not null check (priority between 0 and 100),
  assignee text,
  assignee_key text,
  candidates jsonb not null,
  candidate_keys text[] not null,
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
  check ((status = 'claimed') <= (claimed_by is not null))
);
create index hitl_task_run on hitl_task (run_id, id);
create index hitl_task_workflow on hitl_task (workflow_id, id) where workflow_id is not null;
create index hitl_task_claimed_by on hitl_task (claimed_by) where claimed_by is not null;
create index hitl_task_queue on hitl_task ((-priority), id) where status in ('open', 'claimed');
create index hitl_task_queue_due on hitl_task (due_at) where status in ('open', 'claimed') and due_at is not null;
create index hitl_task_queue_principals on hitl_task using gin (principals) where status in ('open', 'claimed');
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
  via text not null,
  as_admin boolean not null,
  delivered_at timestamptz,
  received_at timestamptz,
  applied_at timestamptz
);
create index hitl_decision_decided_by on hitl_decision (decided_by, decided_at);

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

create function hitl_audit_refuse() returns trigger language plpgsql as $$
begin
  raise exception 'hitl_audit is append-only' using errcode = 'restrict_violation';
end
$$;
create trigger hitl_audit_append_only before update or delete on hitl_audit
  for each row execute function hitl_audit_refuse();
create trigger hitl_audit_no_truncate before truncate on hitl_audit
  for each statement execute function hitl_audit_refuse();
`);
  }
}
