import { Migration } from '@mikro-orm/migrations';

/** Schedules that count for the quota of the platform; each workflow has a row, most without a schedule. */
export class Migration202611290052ActiveSchedules extends Migration {
  override up(): void {
    this.addSql(
      `create index workflow_schedule_active on workflow_schedule (workflow_id)
        where kind is not null and paused_at is null`,
    );
  }
}
