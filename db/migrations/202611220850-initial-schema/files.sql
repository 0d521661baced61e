-- What is known of files. Their bytes are in the file store, under the same id.

create table file (
  id uuid primary key,
  owner_id uuid not null references user_account (id),
  name text not null,
  media_type text not null,
  size int not null check (size >= 0),
  sha256 text not null,
  visibility text not null default 'private' check (visibility in ('private', 'public')),
  created_at timestamptz not null default clock_timestamp(),
  -- The platform stored it for a run (parts of messages, files that agents gave), so it goes with the last
  -- run that it serves. What a user uploaded stays until they delete it.
  of_runs boolean not null default false
);
create index file_owner on file (owner_id, id desc);
create index file_public on file (id desc) where visibility = 'public';
create index file_sha256 on file (sha256, id desc);

-- Which runs a file serves.
create table run_file (
  run_id uuid not null references run (id) on delete cascade,
  file_id uuid not null references file (id) on delete cascade,
  primary key (run_id, file_id)
);
create index run_file_file on run_file (file_id);

-- Linked files that a run fetches before its first task.
create table file_fetch (
  run_id uuid not null references run (id) on delete cascade,
  -- The place in the `files` of the run's input.
  position int not null,
  -- The id that the file gets.
  file_id uuid not null,
  url text not null,
  name text,
  media_type text,
  sha256 text,
  accepts text[] not null,
  primary key (run_id, position)
);
