import { Migration } from '@mikro-orm/migrations';

/** Quotas of users and teams, and what counting them needs. */
export class Migration202611231756Quotas extends Migration {
  override up(): void {
    // What replaces the settings: numbers by the name of the quota.
    this.addSql('alter table user_account add column quotas jsonb');
    this.addSql('alter table team add column quotas jsonb');
    this.addSql(`create index run_live_team on run (team_id)
      where team_id is not null and status in ('pending', 'running', 'waiting', 'suspended')`);
    // Sums of sizes without the rows.
    this.addSql('create index file_size on file (holder_id) include (size, of_runs)');
    // Runs that a user, a team or the platform (the nil UUID) has started in a minute. Each connection counts
    // in a row of its own, so that starts do not wait for each other. A crash of the server forgets a minute.
    this.addSql(`
      create unlogged table run_rate (
        holder_id uuid not null,
        minute timestamptz not null,
        stripe smallint not null,
        runs int not null,
        primary key (holder_id, minute, stripe)
      )`);
    this.addSql('create index run_rate_minute on run_rate (minute)');
    // Times of schedules that wait for a quota of runs.
    this.addSql(`
      create table schedule_wait (
        workflow_id uuid not null references workflow_schedule (workflow_id) on delete cascade,
        scheduled_at timestamptz not null,
        since timestamptz not null default clock_timestamp(),
        primary key (workflow_id, scheduled_at)
      )`);
    this.addSql('create index schedule_wait_time on schedule_wait (scheduled_at)');
  }
}
