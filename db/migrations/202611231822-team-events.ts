import { Migration } from '@mikro-orm/migrations';

/**
 * Teams hold event sources, inbound webhooks, sets of resources and installed items. The owner of an event,
 * and that of a set, is then the team's id, as with secrets.
 */
export class Migration202611231822TeamEvents extends Migration {
  override up(): void {
    for (const table of ['event_source', 'inbound_hook'])
      this.addSql(`
        alter table ${table}
          add column team_id uuid references team (id),
          add column holder_id uuid not null generated always as (coalesce(team_id, owner_id)) stored`);
    this.addSql('alter table event_source drop constraint event_source_owner_id_source_key');
    this.addSql('create unique index event_source_holder on event_source (holder_id, source)');
    this.addSql('create index event_source_owner on event_source (owner_id, id)');
    this.addSql('create index inbound_hook_holder on inbound_hook (holder_id, id)');
    for (const table of ['event_source', 'inbound_hook'])
      this.addSql(`create index ${table}_team on ${table} (team_id) where team_id is not null`);
    this.addSql('alter table inbound_event drop constraint inbound_event_owner_id_fkey');
    this.addSql('alter table applied_resource drop constraint applied_resource_owner_id_fkey');
    this.addSql(
      'alter table marketplace_install add column team_id uuid references team (id) on delete cascade',
    );
    this.addSql(`create index marketplace_install_team on marketplace_install (team_id, id desc)
      where team_id is not null`);
  }
}
