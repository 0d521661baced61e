-- What an installation has once, and the keys that it has used.

-- The id that the file store of this database carries: see domain/files/store-identity.ts.
create table installation (
  only_row boolean primary key default true check (only_row),
  file_store_id uuid not null,
  file_store_marked boolean not null default false,
  created_at timestamptz not null default clock_timestamp()
);

create table maintenance (
  only_row boolean primary key default true check (only_row),
  -- The id that its schedules on Temporal carry.
  installation_id uuid not null default gen_random_uuid(),
  -- Where the sweep over live runs stands.
  sweep_after uuid,
  sweep_begun_at timestamptz
);
insert into maintenance default values;

-- The keys that payloads on Temporal were ever encrypted with: histories do not say it in a way that can be
-- asked for.
create table encryption_key (
  id text primary key,
  first_used_at timestamptz not null default clock_timestamp(),
  -- Since when no run under way needs it; set by `npm run rotate-keys`.
  runs_moved_at timestamptz,
  -- The first pass of `npm run rotate-keys` to this key.
  rotation_started_at timestamptz
);
