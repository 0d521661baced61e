import { Migration } from '@mikro-orm/migrations';

/** Sets of resources make inbound webhooks and event sources too (`POST /apply`). */
export class Migration202611230545AppliedHooks extends Migration {
  override up(): void {
    this.addSql(`alter table applied_resource drop constraint applied_resource_kind_check,
      add check (kind in ('agent', 'workflow', 'webhook', 'hook', 'event_source'))`);
  }
}
