import { Migration } from '@mikro-orm/migrations';

/** What the people who are asked may see of the run (docs/human-tasks.md). */
export class Migration202611222240HumanTaskContext extends Migration {
  override up(): void {
    this.addSql('alter table hitl_task add column context json');
  }
}
