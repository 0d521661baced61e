import { Migration } from '@mikro-orm/migrations';

import { LIVE_STATUSES } from '../../contracts/run-events.ts';
import { isOneOf } from '../sql.ts';
import { OVERLAPS, START_CAUSES, START_OUTCOMES } from '../../contracts/schedules.ts';

const list = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');

/** Workflows whose runs start by the clock, and what became of their last times. */
export class Migration202611222300Schedules extends Migration {
  override up(): void {
    this.addSql(`
      create table workflow_schedule (
        workflow_id uuid primary key references workflow (id) on delete cascade,
        -- Null once the definition has no schedule any more.
        kind text check (kind in ('every', 'cron', 'after')),
        after_ms bigint,
        paused_at timestamptz,
        paused_by uuid references user_account (id) on delete set null,
        note text,
        overlap text not null default 'skip' check (overlap in (${list(OVERLAPS)})),
        catch_up_seconds int not null,
        jitter_seconds int not null default 0,
        -- The time whose run waits for the end of an earlier one.
        buffered_at timestamptz,
        -- Grows with each change; Temporal has what it was told of one generation.
        generation bigint not null default 1,
        told_generation bigint,
        -- Why Temporal refused it.
        refusal text,
        -- When Temporal is told again.
        due_at timestamptz not null default clock_timestamp(),
        created_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql('create index workflow_schedule_due on workflow_schedule (due_at)');
    this.addSql(
      `create index workflow_schedule_buffered on workflow_schedule (buffered_at)
        where buffered_at is not null`,
    );
    this.addSql(
      `create index workflow_schedule_after on workflow_schedule (workflow_id) where kind = 'after'`,
    );
    this.addSql(
      'create index workflow_schedule_paused_by on workflow_schedule (paused_by) where paused_by is not null',
    );
    this.addSql(`
      create table schedule_start (
        workflow_id uuid not null references workflow (id) on delete cascade,
        scheduled_at timestamptz not null,
        cause text not null check (cause in (${list(START_CAUSES)})),
        outcome text not null check (outcome in (${list(START_OUTCOMES)})),
        run_id uuid references run (id) on delete set null,
        detail text,
        at timestamptz not null default clock_timestamp(),
        primary key (workflow_id, scheduled_at)
      )`);
    this.addSql('create index schedule_start_run on schedule_start (run_id) where run_id is not null');
    // The time of its schedule at which the run was to start; null for all others.
    this.addSql('alter table run add column scheduled_at timestamptz');
    this.addSql(
      'create unique index run_scheduled on run (workflow_id, scheduled_at) where scheduled_at is not null',
    );
    this.addSql(
      `create index run_scheduled_live on run (workflow_id)
        where scheduled_at is not null and ${isOneOf('status', LIVE_STATUSES)}`,
    );
  }
}
