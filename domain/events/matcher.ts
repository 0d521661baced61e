/**
 * Tells listeners of events. Each event is stored first and matched in later transactions, so the request
 * that sends it does not wait, and a listener that opens meanwhile finds it in one way or the other
 * (docs/adr/0033). The events of a sender are matched in their order, by one process at a time.
 */
import { TERMINAL_STATUSES } from '../../contracts/run-events.ts';
import { inParallel } from '../in-parallel.ts';
import { TemporalUnavailable } from '../ports.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, isNoneOf } from '../../db/sql.ts';
import { deliverSignals, startRun, type DispatchDeps } from '../runs/dispatch.ts';
import { MAX_RETRIES, type RunLimits } from '../runs/limits.ts';
import { startByEvent } from '../schedules/on-event.ts';
import {
  LISTENER_COLUMNS,
  OpenListener,
  saveListeners,
  type ListenerRow,
  type StoredEvent,
} from './listener-rows.ts';
import { SHARED } from './listeners.ts';
import { typesOf, valueOf, type Shape } from './match.ts';
import { createRests } from './rests.ts';

export interface MatchDeps extends DispatchDeps {
  logger: { warn(details: object, message: string): void };
  limits: RunLimits;
}

interface InboundRow extends StoredEvent {
  owner_id: string;
  source: string;
  /** Seconds since 1970, with fractions. */
  received: number;
}

/** Of one sender in one pass. */
const BATCH = 100;
const BATCH_BYTES = 8 * 1024 * 1024;
const SENDERS = 50;
/** Fewer than the smallest pool has connections: each holds one while it uses others. */
const SENDERS_AT_ONCE = 3;
/** Listeners that one transaction locks. */
const PAGE = 500;
const MAX_SHAPES = 1_000;
const SIGNALS_AT_ONCE = 10;

/** Matches a batch of each sender who has events. @returns whether there may be more */
export async function matchEvents(deps: MatchDeps): Promise<boolean> {
  let more = false;
  let after = FIRST;
  for (;;) {
    const senders = await sendersWithEvents(deps.orm.em.fork(), after);
    await inParallel(senders, SENDERS_AT_ONCE, async (sender) => {
      if ((await matchBatch(deps, sender)) > 0) more = true;
    });
    const last = senders.at(-1);
    if (last === undefined || senders.length < SENDERS) return more;
    after = last;
  }
}

async function matchBatch(deps: MatchDeps, sender: string): Promise<number> {
  try {
    // The lock ends with its connection, so a killed process holds nobody up.
    return await deps.orm.em.fork().transactional(async (em) => {
      const [lock] = await em.execute<{ ours: boolean }[]>(
        `select pg_try_advisory_xact_lock(hashtextextended('inbound events of ' || ?, 0)) as ours`,
        [sender],
      );
      return lock?.ours === true ? matchSender(deps, sender) : 0;
    });
  } catch (error) {
    // The others do not wait for it.
    deps.logger.warn({ err: error, owner_id: sender }, 'cannot match events with listeners, trying again');
    return 0;
  }
}

async function sendersWithEvents(em: EntityManager, after: string): Promise<string[]> {
  const rows = await em.execute<{ owner_id: string }[]>(
    `with recursive sender as (
       (select owner_id from inbound_event where matched_at is null and owner_id > ?
         order by owner_id limit 1)
       union all
       select next.owner_id from sender cross join lateral (
         select i.owner_id from inbound_event i
          where i.matched_at is null and i.owner_id > sender.owner_id order by i.owner_id limit 1) next)
     select owner_id from sender limit ?`,
    [after, SENDERS],
  );
  return rows.map(({ owner_id }) => owner_id);
}

async function matchSender(deps: MatchDeps, sender: string): Promise<number> {
  const events = await nextBatch(deps.orm.em.fork(), sender);
  if (events.length === 0) return 0;
  const probes = await probesOf(deps.orm.em.fork(), sender, events);
  for (let open = probes; open.length > 0;) {
    const { found, rest } = await findListeners(deps.orm.em.fork(), sender, open);
    await offerToRuns(deps, sender, events, found);
    await offerToSchedules(deps, sender, events, found);
    open = rest;
  }
  await deps.orm.em
    .fork()
    .execute('update inbound_event set matched_at = clock_timestamp() where id = any(?::uuid[])', [
      arrayLiteral(events.map(({ id }) => id)),
    ]);
  return events.length;
}

async function nextBatch(em: EntityManager, sender: string): Promise<InboundRow[]> {
  return em.execute<InboundRow[]>(
    `select i.id, i.owner_id, i.source, i.event, b.bytes,
            extract(epoch from i.received_at)::float8 as received
       from (select n.id, n.bytes, sum(n.bytes) over (order by n.received_at, n.id) as sum,
                    row_number() over (order by n.received_at, n.id) as place
               from (select id, received_at, octet_length(event::text) as bytes from inbound_event
                      where owner_id = ? and matched_at is null order by received_at, id limit ?) n) b
            join inbound_event i on i.id = b.id
      where b.sum <= ? or b.place = 1 order by i.received_at, i.id`,
    [sender, BATCH, BATCH_BYTES],
  );
}

/** One place of the index where listeners of an event may be. */
interface Probe {
  /** Position of the event in the batch. */
  index: number;
  type: string;
  shape: string;
  value: string;
  /** The last listener that was read there. */
  after: string;
}

const FIRST = '00000000-0000-0000-0000-000000000000';

/** SQL: the shapes of a sender's listeners for some types, skipping from one to the next in the index. */
export const SHAPES = `select t.type, s.shape, d.definition
       from unnest(?::text[]) as t (type)
            cross join lateral (
              with recursive found as (
                (select shape from listener_key where sender_id = ? and type = t.type order by shape limit 1)
                union all
                select next.shape from found cross join lateral (
                  select k.shape from listener_key k
                   where k.sender_id = ? and k.type = t.type and k.shape > found.shape
                   order by k.shape limit 1) next)
              select shape from found limit ${MAX_SHAPES}) s
            join listener_shape d on d.shape = s.shape`;

/** Reads which shapes there are for the types of the events. */
async function probesOf(em: EntityManager, sender: string, events: readonly InboundRow[]): Promise<Probe[]> {
  const types = new Set(events.flatMap(({ event }) => typesOf(event)));
  const shapes = await em.execute<{ type: string; shape: string; definition: Shape }[]>(SHAPES, [
    arrayLiteral(types),
    sender,
    sender,
  ]);
  const byType = Map.groupBy(shapes, ({ type }) => type);
  const probes: Probe[] = [];
  const rest = createRests();
  for (const [index, { event }] of events.entries()) {
    for (const type of typesOf(event)) {
      for (const { shape, definition } of byType.get(type) ?? []) {
        await rest();
        const value = valueOf(definition, event);
        if (value !== null) probes.push({ index, type, shape, value, after: FIRST });
      }
    }
  }
  return probes;
}

/** The indexes of the events that each listener may take. */
type Found = Map<string, Set<number>>;

/** SQL: the listeners at each of the probes, which are JSON. By the primary key of the index. */
export const findQuery = `
  select p.ord::int as ord, k.listener_id
    from json_to_recordset(?::json) as p (ord int, type text, shape text, value text, after uuid)
         cross join lateral (
           select listener_id from listener_key
            where sender_id = ?::uuid and type = p.type and shape = p.shape and value = p.value
              and listener_id > p.after
            order by listener_id limit ${PAGE}) k`;

async function findListeners(
  em: EntityManager,
  sender: string,
  probes: readonly Probe[],
): Promise<{ found: Found; rest: Probe[] }> {
  const rows = await em.execute<{ ord: number; listener_id: string }[]>(findQuery, [
    JSON.stringify(probes.map((probe, ord) => ({ ord, ...probe }))),
    sender,
  ]);
  const found: Found = new Map();
  const counts = new Map<number, { count: number; last: string }>();
  for (const { ord, listener_id: id } of rows) {
    const index = probes[ord]?.index ?? 0;
    found.set(id, (found.get(id) ?? new Set()).add(index));
    counts.set(ord, { count: (counts.get(ord)?.count ?? 0) + 1, last: id });
  }
  const rest = probes.flatMap((probe, ord) => {
    const { count, last } = counts.get(ord) ?? { count: 0, last: FIRST };
    return count < PAGE ? [] : [{ ...probe, after: last }];
  });
  return { found, rest };
}

/** With the times from which its events count, and since which it is open. */
type Candidate = ListenerRow & { opened: number; created: number };

async function offerToRuns(
  deps: MatchDeps,
  sender: string,
  events: readonly InboundRow[],
  found: Found,
): Promise<void> {
  const ids = [...found.keys()].toSorted();
  for (let from = 0; from < ids.length; from += PAGE) {
    const page = ids.slice(from, from + PAGE);
    const signals = await deps.orm.em.fork().transactional((em) => offer(em, sender, events, found, page));
    await deliver(deps, signals);
  }
}

async function offer(
  em: EntityManager,
  sender: string,
  events: readonly InboundRow[],
  found: Found,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await em.execute<Candidate[]>(
    `select ${LISTENER_COLUMNS}, extract(epoch from l.since)::float8 as opened,
            extract(epoch from l.created_at)::float8 as created from listener l
      where l.id = any(?::uuid[]) and l.status = 'open' and l.inbox_at is null
        and exists (select from run r where r.id = l.run_id and ${isNoneOf('r.status', TERMINAL_STATUSES)})
      order by l.id for update`,
    [arrayLiteral(ids)],
  );
  if (rows.length === 0) return [];
  const isTaken = await takenBefore(em, rows, events);
  const readable = await readableBy(em, sender, rows, events);
  const listeners: OpenListener[] = [];
  const rest = createRests();
  for (const row of rows) {
    const listener = new OpenListener(row);
    listeners.push(listener);
    for (const index of [...(found.get(row.id) ?? [])].toSorted((a, b) => a - b)) {
      const event = events[index];
      if (!event || event.received < row.opened || isTaken.has(`${row.id} ${event.id}`)) continue;
      if (!readable(row.owner_id, event)) continue;
      listener.offer(event);
      await rest();
    }
  }
  return saveListeners(em, new Map(rows.map((row) => [row.id, row])), listeners);
}

/**
 * What each listener has taken; of events from before it was open also what its run, or one that this run
 * retries, has taken by another `listen`.
 */
async function takenBefore(
  em: EntityManager,
  rows: readonly Candidate[],
  events: readonly InboundRow[],
): Promise<Set<string>> {
  const ids = arrayLiteral(events.map(({ id }) => id));
  const own = await em.execute<{ listener_id: string; event_id: string }[]>(
    `select listener_id, event_id from listener_event
      where listener_id = any(?::uuid[]) and event_id = any(?::uuid[])`,
    [arrayLiteral(rows.map(({ id }) => id)), ids],
  );
  const earliest = Math.min(...events.map(({ received }) => received));
  const opened = new Map(rows.map(({ id, created }) => [id, created]));
  const late = rows.filter(({ created }) => created > earliest).map(({ id }) => id);
  const ofRuns =
    late.length === 0
      ? []
      : await em.execute<{ listener_id: string; event_id: string; received: number }[]>(
          `with recursive chain as (
             select id as listener_id, run_id, 1 as place from listener where id = any(?::uuid[])
             union all
             select c.listener_id, r.retry_of, c.place + 1 from chain c join run r on r.id = c.run_id
              where r.retry_of is not null and c.place < ${MAX_RETRIES})
           select distinct c.listener_id, e.event_id, extract(epoch from i.received_at)::float8 as received
             from chain c join listener o on o.run_id = c.run_id
                  join listener_event e on e.listener_id = o.id
                  join inbound_event i on i.id = e.event_id
            where e.event_id = any(?::uuid[])`,
          [arrayLiteral(late), ids],
        );
  const before = ofRuns.filter(({ listener_id: id, received }) => received < (opened.get(id) ?? 0));
  return new Set([...own, ...before].map(({ listener_id, event_id }) => `${listener_id} ${event_id}`));
}

/** Which of the sender's events the owners of listeners may read. */
async function readableBy(
  em: EntityManager,
  sender: string,
  listeners: readonly Pick<ListenerRow, 'owner_id'>[],
  events: readonly Pick<InboundRow, 'id'>[],
): Promise<(ownerId: string, event: Pick<InboundRow, 'id'>) => boolean> {
  const others = new Set(listeners.map(({ owner_id }) => owner_id).filter((id) => id !== sender));
  const rows =
    others.size === 0
      ? []
      : await em.execute<{ reader: string; id: string }[]>(
          `select o.reader, i.id from unnest(?::uuid[]) as o (reader), inbound_event i
            where i.id = any(?::uuid[]) and ${SHARED.replaceAll('?::uuid', 'o.reader')}`,
          [arrayLiteral(others), arrayLiteral(events.map(({ id }) => id))],
        );
  const admitted = new Set(rows.map(({ reader, id }) => `${reader} ${id}`));
  return (ownerId, { id }) => ownerId === sender || admitted.has(`${ownerId} ${id}`);
}

/** Each start is a transaction of its own, in the order of the events. */
async function offerToSchedules(
  deps: MatchDeps,
  sender: string,
  events: readonly InboundRow[],
  found: Found,
): Promise<void> {
  const em = deps.orm.em.fork();
  const rows = await em.execute<{ id: string; workflow_id: string; owner_id: string }[]>(
    `select id, workflow_id, owner_id from listener where id = any(?::uuid[]) and workflow_id is not null`,
    [arrayLiteral(found.keys())],
  );
  if (rows.length === 0) return;
  const readable = await readableBy(em, sender, rows, events);
  for (const [index, event] of events.entries()) {
    const of = rows.filter(({ id, owner_id }) => found.get(id)?.has(index) && readable(owner_id, event));
    for (const workflowId of new Set(of.map(({ workflow_id }) => workflow_id))) {
      const started = await deps.orm.em
        .fork()
        .transactional((tx) => startByEvent(tx, { workflowId, event, limits: deps.limits }));
      if (started !== null) await startRun(deps, started);
    }
  }
}

/** Those that do not arrive are repeated by the reconciler. */
async function deliver(deps: MatchDeps, signals: readonly string[]): Promise<void> {
  const size = Math.ceil(signals.length / SIGNALS_AT_ONCE);
  const parts = Array.from({ length: SIGNALS_AT_ONCE }, (_, part) =>
    signals.slice(part * size, (part + 1) * size),
  ).filter((part) => part.length > 0);
  try {
    await inParallel(parts, SIGNALS_AT_ONCE, async (part) => {
      await deliverSignals(deps, part);
    });
  } catch (error) {
    if (!(error instanceof TemporalUnavailable)) throw error;
  }
}
