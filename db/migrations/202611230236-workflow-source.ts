import { Migration } from '@mikro-orm/migrations';

/** The text of a definition as its author sent it, with its comments. */
export class Migration202611230236WorkflowSource extends Migration {
  override up(): void {
    this.addSql('alter table workflow_revision add column source text');
  }
}
