import { Migration } from '@mikro-orm/migrations';

/** Finds other workflows of the same holder and name. */
export class Migration202611300941WorkflowNames extends Migration {
  override up(): void {
    this.addSql('create index workflow_name on workflow (holder_id, name) where archived_at is null');
  }
}
