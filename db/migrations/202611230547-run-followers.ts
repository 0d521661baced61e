import { Migration } from '@mikro-orm/migrations';

/**
 * Runs whose stream somebody follows now, as the copies of the API note it again and again. What a crash of
 * PostgreSQL empties is noted again within seconds.
 */
export class Migration202611230547RunFollowers extends Migration {
  override up(): void {
    this.addSql(`create unlogged table run_follower (
      run_id uuid primary key,
      until timestamptz not null
    )`);
    this.addSql('create index run_follower_until_index on run_follower (until)');
  }
}
