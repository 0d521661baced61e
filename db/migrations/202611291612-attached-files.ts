import { Migration } from '@mikro-orm/migrations';

/**
 * Whether a person has uploaded the file for a run, such as for a decision: it is not from inside of the run.
 */
export class Migration202611291612AttachedFiles extends Migration {
  override up(): void {
    this.addSql('alter table file add column attached boolean not null default false');
  }
}
