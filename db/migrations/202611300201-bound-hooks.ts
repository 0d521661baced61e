import { Migration } from '@mikro-orm/migrations';

/**
 * A call of an inbound webhook is also refused because its source was bound to another sender. It takes a
 * constraint away only for a wider one, so copies of the release before go on.
 */
export class Migration202611300201BoundHooks extends Migration {
  static readonly contracts = true;

  override up(): void {
    this.addSql(
      `alter table inbound_hook drop constraint inbound_hook_last_refusal_check,
         add constraint inbound_hook_last_refusal_check check (last_refusal in
           ('unsigned', 'wrong_signature', 'old_signature', 'no_secret', 'source_bound', 'inactive'))`,
    );
  }
}
