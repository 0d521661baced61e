import { Migration } from '@mikro-orm/migrations';

/**
 * Temporal is told of all schedules again, which have a fairness key and a policy for overlaps from now on:
 * within ten minutes, after those that have changed. What a worker of the release before tells it meanwhile
 * is mended an hour later, as everything is.
 */
export class Migration202611291932FairSchedules extends Migration {
  override up(): void {
    this.addSql(
      `update workflow_schedule
          set due_at = least(due_at, clock_timestamp() + random() * interval '10 minutes')
        where kind in ('every', 'cron')`,
    );
  }
}
