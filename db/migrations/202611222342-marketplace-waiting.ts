import { Migration } from '@mikro-orm/migrations';

/** Marks the items that have a version for an admin to review, so that their list is a scan of an index. */
export class Migration202611222342MarketplaceWaiting extends Migration {
  override up(): void {
    this.addSql('alter table marketplace_item add column waiting boolean not null default false');
    this.addSql(
      `update marketplace_item i set waiting = true
        where i.status <> 'withdrawn'
          and exists (select 1 from marketplace_version v where v.item_id = i.id and v.status = 'submitted')`,
    );
    this.addSql(
      'create index marketplace_item_waiting on marketplace_item (listed_at desc, id desc) where waiting',
    );
  }
}
