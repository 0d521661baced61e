import { Migration } from '@mikro-orm/migrations';

/**
 * Monitoring names the first workflows and agents of a day, and counts claims of human tasks when they
 * happen. Where a row of before has no time, its hour, its day or its last claim stands for it.
 */
export class Migration202611290152FirstOfADay extends Migration {
  override up(): void {
    this.addSql('alter table run_hour add column first_at timestamptz');
    this.addSql('alter table usage_day add column first_at timestamptz');
    // It stays when the claim is released.
    this.addSql('alter table hitl_task add column first_claimed_at timestamptz');
    this.addSql(`
      create index hitl_task_first_claim on hitl_task (coalesce(first_claimed_at, claimed_at))
        where coalesce(first_claimed_at, claimed_at) is not null`);
  }
}
