import { Migration } from '@mikro-orm/migrations';

/** Administrators look for webhooks that are off among those of all users. */
export class Migration202611290155InactiveWebhooks extends Migration {
  override up(): void {
    this.addSql(`
      create index delivery_target_inactive on delivery_target (id desc)
        where kind = 'webhook' and not active`);
  }
}
