import { Migration } from '@mikro-orm/migrations';

/** After a rotation requests are signed with the former secret too, until its time is over. */
export class Migration202611300840FormerWebhookSecrets extends Migration {
  override up(): void {
    this.addSql(`
      alter table webhook
        add former_secret_encrypted text,
        add former_secret_until timestamptz,
        add constraint webhook_former_secret_check
          check ((former_secret_encrypted is null) = (former_secret_until is null))`);
    this.addSql(`
      create index webhook_former_secret on webhook (former_secret_until)
        where former_secret_until is not null`);
  }
}
