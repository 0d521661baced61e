import { Migration } from '@mikro-orm/migrations';

/**
 * Open streams of all copies of the API, so that their limits hold over all of them. A copy notes when its
 * streams stop counting unless it notes them again. What a crash of PostgreSQL empties is noted again within
 * seconds.
 */
export class Migration202611300200OpenStreams extends Migration {
  override up(): void {
    this.addSql(`create unlogged table api_copy (
      id uuid primary key,
      expires_at timestamptz not null
    )`);
    this.addSql(`create unlogged table open_stream (
      id uuid primary key,
      copy_id uuid not null references api_copy (id) on delete cascade,
      user_id uuid not null,
      address text not null
    )`);
    this.addSql('create index open_stream_copy on open_stream (copy_id)');
    this.addSql('create index open_stream_user on open_stream (user_id)');
    this.addSql('create index open_stream_address on open_stream (address)');
  }
}
