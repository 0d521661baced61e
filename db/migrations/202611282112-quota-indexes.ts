import { Migration } from '@mikro-orm/migrations';

/**
 * What of files is used comes from `file_total`, so nothing sums their sizes by holder any more. Webhooks are
 * few among the targets of deliveries, of which each task of A2A may have some.
 */
export class Migration202611282112QuotaIndexes extends Migration {
  override up(): void {
    this.addSql('drop index file_size');
    this.addSql(
      `create index delivery_target_webhooks on delivery_target (holder_id) where kind = 'webhook'`,
    );
  }
}
