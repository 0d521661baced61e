import { Migration } from '@mikro-orm/migrations';

/**
 * What an admin has withdrawn is reviewed again before it is shown again. Of items that are withdrawn
 * already, the audit log says who did it; where it does not name the publisher alone, their versions are
 * reviewed.
 */
export class Migration202611291933WithdrawnByAdmins extends Migration {
  override up(): void {
    this.addSql(
      `update marketplace_version v
          set status = 'rejected', reason = null, reviewed_by = null, reviewed_at = clock_timestamp()
         from marketplace_item i
        where i.id = v.item_id and i.status = 'withdrawn' and v.status = 'approved'
          and (select bool_and(a.actor_id = i.publisher_id) from audit_entry a
                where a.object_id = i.id::text and a.action = 'withdrawMarketplaceItem'
                  and a.outcome = 'done')
              is not true`,
    );
  }
}
