/** Events from outside, and those that runs emit: each is stored once, for `listen` tasks and schedules. */
import { v7 as uuidv7 } from 'uuid';

import { utcTime } from '../../contracts/instant.ts';
import { LISTED_FIELD_BYTES } from '../../db/large-fields.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, Conditions, type KeysetPage } from '../../db/sql.ts';
import { activeTrace } from '../../tracing/context.ts';
import { isAdmin, userIdOf, type Actor } from '../auth/actor.ts';
import { hasTeamRole } from '../auth/ownership.ts';
import { badRequest, notFound, type AppError } from '../errors.ts';
import { storable } from '../storable.ts';

/** A CloudEvent 1.0 with its extensions. */
export interface InboundCloudEvent {
  id: string;
  source: string;
  type: string;
  subject?: string | undefined;
  time?: string | undefined;
  [attribute: string]: unknown;
}

/** Whose events they are, and how they came. */
export interface EventSender {
  /** A user, or the team for which they are sent. */
  owner_id: string;
  /** The person who sends them, also by a machine client; absent for a call of an inbound webhook. */
  user_id?: string;
  client_id?: string | null;
  hook_id?: string;
}

export interface Accepted {
  id: string;
  source: string;
  event_id: string;
  received_at: Date;
  /** The sender had sent it before; the first one counts. */
  duplicate: boolean;
}

/** Wakes the matcher of the workers (worker/event-matcher.ts). */
export const INBOUND_CHANNEL = 'inbound_event';

const identity = (event: { source: string; event_id: string }): string =>
  JSON.stringify([event.source, event.event_id]);

/**
 * Stores events in their order, in one statement. An event is identified by its owner, source and id, so no
 * sender can block another's events.
 */
export async function acceptEvents(
  em: EntityManager,
  sender: EventSender,
  events: readonly InboundCloudEvent[],
): Promise<Accepted[]> {
  const { traceparent, tracestate } = activeTrace();
  const rows = events.map((event) => ({
    id: uuidv7(),
    source: event.source,
    event_id: event.id,
    type: event.type,
    subject: event.subject ?? null,
    at: event.time === undefined ? null : utcTime(event.time),
    event: storable(event),
  }));
  const inserted = await em.execute<Omit<Accepted, 'duplicate'>[]>(
    `insert into inbound_event (id, owner_id, source, event_id, type, subject, at, event, sent_by, client_id,
                                hook_id, traceparent, tracestate)
     select e.id, ?, e.source, e.event_id, e.type, e.subject, e.at, e.event, ?::uuid, ?, ?, ?, ?
       from json_to_recordset(?::json) as e (id uuid, source text, event_id text, type text, subject text,
                                             at timestamptz, event json)
     on conflict (owner_id, source, event_id) do nothing
     returning id, source, event_id, received_at`,
    [
      sender.owner_id,
      sender.user_id ?? null,
      sender.client_id ?? null,
      sender.hook_id ?? null,
      traceparent,
      tracestate,
      JSON.stringify(rows),
    ],
  );
  if (inserted.length > 0) await em.execute(`select pg_notify('${INBOUND_CHANNEL}', '')`);
  const known = new Map(inserted.map((row) => [identity(row), { ...row, duplicate: false }]));
  const repeated = rows.filter((row) => !known.has(identity(row)));
  for (const row of await findAccepted(em, sender.owner_id, repeated))
    known.set(identity(row), { ...row, duplicate: true });
  return rows.map((row) => {
    const accepted = known.get(identity(row));
    if (!accepted) throw new Error('the duplicate of an inbound event was not found');
    return { ...accepted, duplicate: accepted.id !== row.id };
  });
}

async function findAccepted(
  em: EntityManager,
  ownerId: string,
  events: readonly { source: string; event_id: string }[],
): Promise<Omit<Accepted, 'duplicate'>[]> {
  if (events.length === 0) return [];
  return em.execute(
    `select i.id, i.source, i.event_id, i.received_at
       from inbound_event i join unnest(?::text[], ?::text[]) as e (source, event_id)
              on i.source = e.source and i.event_id = e.event_id
      where i.owner_id = ?`,
    [arrayLiteral(events.map(({ source }) => source)), arrayLiteral(events.map((e) => e.event_id)), ownerId],
  );
}

/** An event as its owner reads it. */
export interface ReceivedEvent {
  id: string;
  /** A user or a team. */
  owner_id: string;
  team_id: string | null;
  source: string;
  event_id: string;
  type: string;
  subject: string | null;
  at: Date | null;
  received_at: Date;
  client_id: string | null;
  hook_id: string | null;
  run_id: string | null;
  event: InboundCloudEvent | null;
}

const COLUMNS = `i.id, i.owner_id, 
  (select t.id from team t where t.id = i.owner_id) as team_id, i.source, i.event_id, i.type, i.subject, i.at,
  i.received_at, i.client_id,
  i.hook_id, i.run_id`;

export interface ReceivedFilter {
  team_id?: string | undefined;
  owner_id?: string | undefined;
  source?: string | undefined;
  event_id?: string | undefined;
  type?: string | undefined;
  received_after?: string | undefined;
  received_before?: string | undefined;
}

/** The time by which events are sorted, in UTC and to the microsecond. */
const PLACE = `to_char(i.received_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/**
 * Newest first, of one owner. Admins see those of others if they name the owner, builders those of a team. A
 * large event is null. @throws 400 for a person and a team
 */
export async function listReceived(
  em: EntityManager,
  actor: Actor,
  filter: ReceivedFilter,
  page: KeysetPage<readonly [string, string]>,
): Promise<(ReceivedEvent & { place: string })[]> {
  if (filter.owner_id !== undefined && filter.team_id !== undefined) throw twoOwners();
  const where = new Conditions();
  where.add('i.owner_id = ?', filter.team_id ?? userIdOf(actor, filter.owner_id ?? 'me'));
  if (filter.owner_id !== undefined && !isAdmin(actor)) where.add('i.owner_id = ?', actor.id);
  if (filter.team_id !== undefined && !readsEventsOf(actor, filter.team_id)) where.add('false');
  if (filter.source !== undefined) where.add('i.source = ?', filter.source);
  if (filter.event_id !== undefined) where.add('i.event_id = ?', filter.event_id);
  if (filter.type !== undefined) where.add('i.type = ?', filter.type);
  if (filter.received_after !== undefined) where.add('i.received_at > ?', filter.received_after);
  if (filter.received_before !== undefined) where.add('i.received_at < ?', filter.received_before);
  if (page.after !== undefined) where.add('(i.received_at, i.id) < (?::timestamptz, ?::uuid)', ...page.after);
  return em.execute(
    `select ${COLUMNS}, ${PLACE} as place,
            case when octet_length(i.event::text) <= ${LISTED_FIELD_BYTES} then i.event end as event
       from inbound_event i where ${where.sql} order by i.received_at desc, i.id desc limit ?`,
    [...where.values, page.limit],
  );
}

/** Who sent an event for a team does not own it, as other things of a team are somebody's. */
function twoOwners(): AppError {
  const message = 'must not be given with team_id: the events of a team have no other owner';
  return badRequest('invalid_query', `owner_id ${message}.`, [
    { pointer: 'owner_id', code: 'invalid_query', message },
  ]);
}

/** Those of a team are for its builders, as its runs are. */
function readsEventsOf(actor: Actor, ownerId: string): boolean {
  return ownerId === actor.id || hasTeamRole(actor, ownerId, 'builder') || isAdmin(actor);
}

/** @throws 404 */
export async function getReceived(em: EntityManager, actor: Actor, id: string): Promise<ReceivedEvent> {
  const [row] = await em.execute<ReceivedEvent[]>(
    `select ${COLUMNS}, i.event from inbound_event i where i.id = ?`,
    [id],
  );
  if (!row || !readsEventsOf(actor, row.owner_id)) throw notFound('event');
  return row;
}
