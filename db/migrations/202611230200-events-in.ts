import { Migration } from '@mikro-orm/migrations';

import { HOOK_SCHEMES } from '../../contracts/hooks.ts';

const schemes = HOOK_SCHEMES.map((scheme) => `'${scheme}'`).join(', ');

/** Who may send events of a source, inbound webhooks, and what is known of an event's way in. */
export class Migration202611230200EventsIn extends Migration {
  override up(): void {
    this.addSql(`
      create table event_source (
        id uuid primary key,
        owner_id uuid not null references user_account (id) on delete cascade,
        source text not null,
        -- No reference: once the client is gone, nobody may send events of the source.
        client_id text,
        user_id uuid references user_account (id) on delete cascade,
        -- Whose workflows may read the owner's events of the source, if they list the owner.
        shared_with uuid[] not null default '{}',
        description text,
        created_at timestamptz not null default clock_timestamp(),
        updated_at timestamptz not null default clock_timestamp(),
        unique (owner_id, source),
        check (client_id is null or user_id is null)
      )`);
    this.addSql('create index event_source_user on event_source (user_id) where user_id is not null');
    this.addSql(`
      create table inbound_hook (
        id uuid primary key,
        owner_id uuid not null references user_account (id) on delete cascade,
        name text not null,
        scheme text not null check (scheme in (${schemes})),
        -- Names of the owner's secrets: the current one and, during a rotation, the former one.
        secret text not null,
        former_secret text,
        source text not null,
        event_type text,
        tolerance_seconds int not null,
        active boolean not null default true,
        last_received_at timestamptz,
        created_at timestamptz not null default clock_timestamp(),
        updated_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql('create index inbound_hook_owner on inbound_hook (owner_id, id)');
    this.addSql(`
      alter table inbound_event
        -- How it came: by a client, an inbound webhook, or a run that emitted it.
        add column client_id text,
        add column hook_id uuid references inbound_hook (id) on delete set null,
        add column run_id uuid`);
    this.addSql('create index inbound_event_hook on inbound_event (hook_id) where hook_id is not null');
    this.addSql('drop index inbound_event_type');
    this.addSql('create index inbound_event_owner on inbound_event (owner_id, received_at, id)');
    this.addSql('create index inbound_event_type on inbound_event (owner_id, type, received_at, id)');
  }
}
