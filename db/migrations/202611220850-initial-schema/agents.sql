-- Agents, their versions and skills, and the secrets of users.

-- `configuration` and the schemas are those of the current version. `json` keeps the order of the user's
-- keys.
create table agent (
  id uuid primary key,
  name text not null,
  description text,
  type text not null,
  execution_type text,
  status text not null default 'active' check (status in ('active', 'inactive', 'deprecated')),
  version text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  last_used timestamptz,
  owner_id uuid not null references user_account (id),
  visibility text not null check (visibility in ('private', 'public')),
  documentation text,
  license text,
  repository_url text,
  configuration json,
  input_schema json,
  output_schema json,
  modalities text[],
  capabilities text[],
  url text,
  provider_name text,
  provider_url text,
  authentication_type text,
  authentication_config json,
  capabilities_streaming boolean not null default false,
  capabilities_push boolean not null default false,
  capabilities_history boolean not null default false,
  tags text[],
  -- Where a copy came from: the marketplace item and its version.
  provenance jsonb
);
create index agent_owner on agent (owner_id, id desc);
create index agent_public on agent (id desc) where visibility = 'public';
create index agent_name on agent (name);
create index agent_modalities on agent using gin (modalities);
create index agent_capabilities on agent using gin (capabilities);
create index agent_tags on agent using gin (tags);
create index agent_provenance on agent (owner_id, ((provenance ->> 'item_id'))) where provenance is not null;

create table agent_version (
  id uuid primary key,
  agent_id uuid not null references agent (id) on delete cascade,
  version text not null,
  configuration json not null,
  input_schema json not null,
  output_schema json not null,
  status text not null check (status in ('draft', 'published', 'deprecated')),
  changelog text,
  created_by uuid not null references user_account (id),
  created_at timestamptz not null default clock_timestamp(),
  -- The order of versions, so that one index probe finds the highest published one.
  precedence text[] collate "C" not null generated always as (semver_precedence(version)) stored,
  -- Null also for versions that are older than this column.
  published_at timestamptz,
  unique (agent_id, version)
);
create index agent_version_author on agent_version (created_by);
create index agent_version_served on agent_version (agent_id, status, precedence);

create table agent_skill (
  id uuid primary key,
  agent_id uuid not null references agent (id) on delete cascade,
  name text not null,
  description text,
  tags text[],
  examples text[],
  input_modes text[],
  output_modes text[]
);
create index agent_skill_agent on agent_skill (agent_id, id);

create table secret (
  owner_id uuid not null references user_account (id) on delete cascade,
  name text not null,
  value_encrypted text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (owner_id, name)
);
