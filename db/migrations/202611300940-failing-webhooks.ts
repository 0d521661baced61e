import { Migration } from '@mikro-orm/migrations';

/** Since when no attempt of a target has succeeded, and why the last one failed: null while all is well. */
export class Migration202611300940FailingWebhooks extends Migration {
  override up(): void {
    this.addSql('alter table delivery_target add failing_since timestamptz, add last_error text');
  }
}
