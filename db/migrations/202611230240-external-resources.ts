import { Migration } from '@mikro-orm/migrations';

/** What a definition takes from elsewhere is pinned in its revision, and runs from there. */
export class Migration202611230240ExternalResources extends Migration {
  override up(): void {
    this.addSql('alter table workflow_revision add column executable json, add column resources json');
  }
}
