import { Migration } from '@mikro-orm/migrations';

/** Retries of evaluations, what failed jobs have used, and checks of containers. */
export class Migration202611231751RetriedCases extends Migration {
  override up(): void {
    this.addSql(`
      alter table evaluation
        add column retry_of uuid references evaluation (id) on delete set null,
        -- Figures of its versions then, to which those of the retry are added.
        add column taken_over json`);
    this.addSql('create index evaluation_retry_of on evaluation (retry_of)');
    // What its failed attempts have said that they used.
    this.addSql('alter table job add column spent json');
    // Containers are checked now, like all others.
    this.addSql(`update agent set last_check = null where last_check ->> 'status' = 'unsupported'`);
  }
}
