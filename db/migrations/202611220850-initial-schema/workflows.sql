-- Workflows and their revisions.

create table workflow (
  id uuid primary key,
  owner_id uuid not null references user_account (id),
  name text not null,
  description text,
  visibility text not null default 'private' check (visibility in ('private', 'public')),
  tags text[] not null default '{}',
  -- The current one.
  revision int not null,
  valid boolean not null,
  runnable boolean not null,
  archived_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  -- Where a copy came from: the marketplace item and its version.
  provenance jsonb
);
create index workflow_owner on workflow (owner_id, id desc);
create index workflow_public on workflow (id desc) where visibility = 'public' and archived_at is null;
create index workflow_tags on workflow using gin (tags);

-- A revision never changes.
create table workflow_revision (
  workflow_id uuid not null references workflow (id) on delete cascade,
  revision int not null,
  definition json not null,
  digest text not null,
  valid boolean not null,
  runnable boolean not null,
  problems jsonb not null,
  input_schema json,
  -- The ids that its agent names were resolved to when it was saved.
  agents jsonb not null,
  -- How `run: workflow` names it.
  dsl_namespace text,
  dsl_name text,
  dsl_version text,
  created_by uuid not null references user_account (id),
  created_at timestamptz not null default clock_timestamp(),
  primary key (workflow_id, revision)
);
create index workflow_revision_author on workflow_revision (created_by);
create index workflow_revision_name on workflow_revision (dsl_namespace, dsl_name, dsl_version);
