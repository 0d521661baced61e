/**
 * Events from outside. They are stored for `listen` tasks and event schedules, which are not available yet.
 */
import { v7 as uuidv7 } from 'uuid';

import { utcTime } from '../../contracts/instant.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';

/** A CloudEvent 1.0 with its extensions. */
export interface InboundCloudEvent {
  id: string;
  source: string;
  type: string;
  subject?: string | undefined;
  time?: string | undefined;
  [attribute: string]: unknown;
}

export interface Accepted {
  id: string;
  received_at: Date;
  /** The sender had sent it before; the first one counts. */
  duplicate: boolean;
}

/** An event is identified by its sender, source and id, so no sender can block another's events. */
export async function acceptEvent(
  em: EntityManager,
  actor: Actor,
  event: InboundCloudEvent,
): Promise<Accepted> {
  const inserted = await em.execute<{ id: string; received_at: Date }[]>(
    `insert into inbound_event (id, owner_id, source, event_id, type, subject, at, event)
     values (?, ?, ?, ?, ?, ?, ?::timestamptz, ?::json)
     on conflict (owner_id, source, event_id) do nothing returning id, received_at`,
    [
      uuidv7(),
      actor.id,
      event.source,
      event.id,
      event.type,
      event.subject ?? null,
      event.time === undefined ? null : utcTime(event.time),
      JSON.stringify(event),
    ],
  );
  if (inserted[0]) return { ...inserted[0], duplicate: false };
  const [first] = await em.execute<{ id: string; received_at: Date }[]>(
    'select id, received_at from inbound_event where owner_id = ? and source = ? and event_id = ?',
    [actor.id, event.source, event.id],
  );
  if (!first) throw new Error('the duplicate of an inbound event was not found');
  return { ...first, duplicate: true };
}

/** @returns the number of deleted events */
export async function removeOldInboundEvents(em: EntityManager, days: number): Promise<number> {
  const rows = await em.execute<object[]>(
    `delete from inbound_event where id in (
       select id from inbound_event
        where received_at < clock_timestamp() - ? * interval '1 day' limit 5000) returning 1`,
    [days],
  );
  return rows.length;
}
