-- The marketplace.

-- An item shows one of its versions: the highest approved one, else the one that was submitted last. That
-- version's texts are copied into the item, so that a list reads one table.
create table marketplace_item (
  id uuid primary key,
  kind text not null check (kind in ('agent', 'workflow')),
  -- The agent or workflow that was published; it may be gone.
  ref_id uuid not null,
  publisher_id uuid not null references user_account (id),
  status text not null check (status in ('submitted', 'approved', 'rejected', 'withdrawn')),
  version text not null,
  digest text not null,
  name text not null,
  summary text,
  description text,
  license text,
  categories text[] not null,
  tags text[] not null,
  requires jsonb not null,
  installs int not null default 0,
  rating_sum int not null default 0,
  rating_count int not null default 0,
  -- Stored, so that it can be sorted by.
  rating double precision not null generated always as (
    case when rating_count = 0 then 0 else round(rating_sum::numeric / rating_count, 2) end) stored,
  created_at timestamptz(3) not null,
  published_at timestamptz(3),
  listed_at timestamptz(3) not null generated always as (coalesce(published_at, created_at)) stored,
  updated_at timestamptz(3) not null,
  unique (kind, ref_id)
);
create index marketplace_item_new on marketplace_item (listed_at desc, id desc);
create index marketplace_item_installs on marketplace_item (installs desc, id desc);
create index marketplace_item_rating on marketplace_item (rating desc, rating_count desc, id desc);
create index marketplace_item_publisher on marketplace_item (publisher_id, listed_at desc, id desc);
create index marketplace_item_status on marketplace_item (status, listed_at desc, id desc)
  where status <> 'approved';
create index marketplace_item_tags on marketplace_item using gin (tags);
create index marketplace_item_categories on marketplace_item using gin (categories);

-- `content` is a snapshot, which needs its origin no more.
create table marketplace_version (
  id uuid primary key,
  item_id uuid not null references marketplace_item (id) on delete cascade,
  version text not null,
  digest text not null,
  content json not null,
  requires jsonb not null,
  name text not null,
  summary text,
  description text,
  license text,
  categories text[] not null,
  tags text[] not null,
  status text not null check (status in ('submitted', 'approved', 'rejected')),
  reason text,
  reviewed_by uuid references user_account (id),
  reviewed_at timestamptz(3),
  submitted_at timestamptz(3) not null,
  unique (item_id, version)
);
create index marketplace_version_reviewer on marketplace_version (reviewed_by) where reviewed_by is not null;

create table marketplace_install (
  id uuid primary key,
  item_id uuid not null references marketplace_item (id) on delete cascade,
  version text not null,
  digest text not null,
  user_id uuid not null references user_account (id),
  -- The copy in the user's registry; it may be gone.
  ref_id uuid not null,
  installed_at timestamptz(3) not null
);
create index marketplace_install_item on marketplace_install (item_id, user_id);
create index marketplace_install_user on marketplace_install (user_id, id desc);

create table marketplace_review (
  id uuid primary key,
  item_id uuid not null references marketplace_item (id) on delete cascade,
  user_id uuid not null references user_account (id),
  version text not null,
  rating int not null check (rating between 1 and 5),
  text text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  unique (item_id, user_id)
);
create index marketplace_review_list on marketplace_review (item_id, id desc);
create index marketplace_review_user on marketplace_review (user_id);
