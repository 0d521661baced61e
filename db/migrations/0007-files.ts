import { Migration } from '@mikro-orm/migrations';

/** What is known of files; their bytes are in the file store, under the same id. */
export class Migration0007Files extends Migration {
  override up(): void {
    this.addSql(`
create table file (
  id uuid primary key,
  owner_id uuid not null references user_account (id),
  name text not null,
  media_type text not null,
  size int not null check (size >= 0),
  sha256 text not null,
  visibility text not null default 'private' check (visibility in ('private', 'public')),
  created_at timestamptz not null default clock_timestamp()
);
create index file_owner on file (owner_id, id desc);
create index file_public on file (id desc) where visibility = 'public';
create index file_sha256 on file (sha256, id desc);
`);
  }
}
