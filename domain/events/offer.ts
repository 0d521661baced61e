/** Offers events to the listeners of runs, under the locks of their rows, and tells the runs. */
import { TERMINAL_STATUSES } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, isNoneOf } from '../../db/sql.ts';
import { deliverSignals, type DispatchDeps } from '../runs/dispatch.ts';
import { MAX_RETRIES, type RunLimits } from '../runs/limits.ts';
import type { Found } from './find-listeners.ts';
import { boundElsewhere, sharedWith } from './inbox.ts';
import {
  LISTENER_COLUMNS,
  OpenListener,
  saveListeners,
  type ListenerRow,
  type StoredEvent,
} from './listener-rows.ts';

export interface MatchDeps extends DispatchDeps {
  logger: { warn(details: object, message: string): void };
  limits: RunLimits;
}

export interface InboundRow extends StoredEvent {
  owner_id: string;
  source: string;
  /** Seconds since 1970, with fractions. */
  received: number;
}

/** Events of one sender, in their order. */
export interface Batch {
  sender: string;
  events: readonly InboundRow[];
}

/** Listeners that one transaction locks, and how long it goes on to the next event of one. */
const LOCKED_AT_ONCE = 200;
const OFFER_MS = 1_000;
const SIGNALS_AT_ONCE = 10;

/** `pause` is called while filters are evaluated. */
export async function offerToRuns(
  deps: MatchDeps,
  batch: Batch,
  found: Found,
  pause: () => Promise<void>,
): Promise<void> {
  const ids = [...found.keys()].toSorted();
  let begin = 0;
  for (let from = 0; from < ids.length;) {
    const page: Page = { ids: ids.slice(from, from + LOCKED_AT_ONCE), begin };
    const { signals, left } = await deps.orm.em
      .fork()
      .transactional((em) => offer(em, batch, found, page, pause));
    await deliverSignals(deps, signals, SIGNALS_AT_ONCE).catch((error: unknown) =>
      deps.logger.warn({ err: error }, 'cannot tell runs of events, the reconciler will'),
    );
    from += left === null ? page.ids.length : page.ids.indexOf(left.id);
    begin = left?.begin ?? 0;
  }
}

/** Listeners in the order of their ids; the first one is offered the events from a position on. */
interface Page {
  ids: readonly string[];
  begin: number;
}

/** With the times from which its events count, and since which it is open. */
type Candidate = ListenerRow & { opened: number; created: number };

/** @returns the signals to deliver, and with which listener and event the next transaction goes on */
async function offer(
  em: EntityManager,
  { sender, events }: Batch,
  found: Found,
  page: Page,
  pause: () => Promise<void>,
): Promise<{ signals: string[]; left: { id: string; begin: number } | null }> {
  const rows = await em.execute<Candidate[]>(
    `select ${LISTENER_COLUMNS}, extract(epoch from l.since)::float8 as opened,
            extract(epoch from l.created_at)::float8 as created from listener l
      where l.id = any(?::uuid[]) and l.status = 'open' and l.inbox_at is null
        and exists (select from run r where r.id = l.run_id and ${isNoneOf('r.status', TERMINAL_STATUSES)})
      order by l.id for update`,
    [arrayLiteral(page.ids)],
  );
  if (rows.length === 0) return { signals: [], left: null };
  const isTaken = await takenBefore(em, rows, events, found);
  const readable = await readableBy(em, sender, rows, events);
  const fits = (row: Candidate, index: number): boolean => {
    const event = events[index];
    if (!event || event.received < row.opened || isTaken.has(`${row.id} ${event.id}`)) return false;
    return readable(row, event) && (row.id !== page.ids[0] || index >= page.begin);
  };
  const listeners: OpenListener[] = [];
  const until = performance.now() + OFFER_MS;
  let left: number | null = null;
  for (const row of rows) {
    const indexes = (found.get(row.id) ?? []).filter((index) => fits(row, index));
    const listener = new OpenListener(row);
    listeners.push(listener);
    left = await offerUntil(until, listener, { events, indexes }, pause);
    if (left !== null) break;
  }
  const signals = await saveListeners(em, listeners);
  const last = listeners.at(-1);
  return { signals, left: last && left !== null ? { id: last.row.id, begin: left } : null };
}

/** @returns the position of the first event for which there was no time; null if there was time for all */
async function offerUntil(
  until: number,
  listener: OpenListener,
  { events, indexes }: { events: readonly InboundRow[]; indexes: readonly number[] },
  pause: () => Promise<void>,
): Promise<number | null> {
  for (const index of indexes) {
    if (performance.now() > until) return index;
    const event = events[index];
    if (event) listener.offer(event);
    await pause();
  }
  return null;
}

/**
 * What each listener has taken; of events from before it was open also what its run, or one that this run
 * retries, has taken by another `listen`.
 */
async function takenBefore(
  em: EntityManager,
  rows: readonly Candidate[],
  events: readonly InboundRow[],
  found: Found,
): Promise<Set<string>> {
  const pairs = rows.flatMap(({ id }) =>
    (found.get(id) ?? []).map((index) => [id, events[index]?.id ?? ''] as const),
  );
  const own = await em.execute<{ listener_id: string; event_id: string }[]>(
    `select e.listener_id, e.event_id from unnest(?::uuid[], ?::uuid[]) as p (listener_id, event_id)
            join listener_event e using (listener_id, event_id)`,
    [arrayLiteral(pairs.map(([listener]) => listener)), arrayLiteral(pairs.map(([, event]) => event))],
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
          [arrayLiteral(late), arrayLiteral(events.map(({ id }) => id))],
        );
  const before = ofRuns.filter(({ listener_id: id, received }) => received < (opened.get(id) ?? 0));
  return new Set([...own, ...before].map(({ listener_id, event_id }) => `${listener_id} ${event_id}`));
}

type Reader = Pick<ListenerRow, 'owner_id' | 'team_id'>;

/**
 * Which of the sender's events listeners may read: the owner's, those of their team, and what is shared; of
 * sources that the team has bound to a sender, only that one's.
 */
export async function readableBy(
  em: EntityManager,
  sender: string,
  listeners: readonly Reader[],
  events: readonly Pick<InboundRow, 'id'>[],
): Promise<(listener: Reader, event: Pick<InboundRow, 'id'>) => boolean> {
  const isOwn = ({ owner_id: owner, team_id: team }: Reader): boolean => owner === sender || team === sender;
  const others = new Set(listeners.filter((one) => !isOwn(one)).map(({ owner_id }) => owner_id));
  const rows =
    others.size === 0
      ? []
      : await em.execute<{ reader: string; id: string }[]>(
          `select o.reader, i.id from unnest(?::uuid[]) as o (reader), inbound_event i
            where i.id = any(?::uuid[]) and ${sharedWith('o.reader')}`,
          [arrayLiteral(others), arrayLiteral(events.map(({ id }) => id))],
        );
  const admitted = new Set(rows.map(({ reader, id }) => `${reader} ${id}`));
  const refused = await refusedByTeams(em, sender, listeners, events);
  return (listener, { id }) =>
    (isOwn(listener) || admitted.has(`${listener.owner_id} ${id}`)) &&
    !refused.has(`${listener.team_id} ${id}`);
}

/** Teams and ids of events. */
async function refusedByTeams(
  em: EntityManager,
  sender: string,
  listeners: readonly Reader[],
  events: readonly Pick<InboundRow, 'id'>[],
): Promise<Set<string>> {
  const teams = new Set(listeners.flatMap(({ team_id: team }) => (team && team !== sender ? [team] : [])));
  if (teams.size === 0) return new Set();
  const rows = await em.execute<{ team: string; id: string }[]>(
    `select t.team, i.id from unnest(?::uuid[]) as t (team), inbound_event i
      where i.id = any(?::uuid[]) and ${boundElsewhere('t.team')}`,
    [arrayLiteral(teams), arrayLiteral(events.map(({ id }) => id))],
  );
  return new Set(rows.map(({ team, id }) => `${team} ${id}`));
}
