/**
 * The events since a run began, from which its listeners take when they open. They stay in their rows until
 * then, so an inbox has no limit of its own.
 */
import { isLiteralText, MAX_TAKEN, type ListenerSpec } from '../../contracts/listening.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { MAX_RETRIES } from '../runs/limits.ts';
import type { Attributes } from './effort.ts';
import { FIRST } from './find-listeners.ts';
import {
  lockListeners,
  OpenListener,
  saveListeners,
  type ListenerRow,
  type StoredEvent,
} from './listener-rows.ts';
import { createYielder } from './yield-to-others.ts';

/** The run's owner and team, and the users whose events its workflow lists. */
export interface Audience {
  /** The run, and those that it retries, the first one last. */
  runs: string[];
  owner_id: string;
  team_id: string | null;
  senders: string[];
}

const PAGE = 100;
const LATE_PAGE = 1_000;
const PAGE_BYTES = 4 * 1024 * 1024;
/** What one transaction reads of an inbox. The run is locked meanwhile. */
const INBOX_MS = 1_000;
const INBOX_EVENTS = 5_000;

/**
 * Offers the listener the events since its run began, page by page, until it has enough or it is time for
 * others; the run then asks again. After the last page it takes part in what comes (`catchUp` finds what
 * came in between).
 */
export async function readInbox(
  em: EntityManager,
  row: ListenerRow,
  audience: Audience,
): Promise<ListenerRow> {
  // The run is being answered, so it need not be told.
  let open = new OpenListener({ ...row, signalled: true });
  let { inbox_at: at, inbox_id: id } = row;
  const until = performance.now() + INBOX_MS;
  let seen = 0;
  const isOver = (): boolean =>
    open.row.status !== 'open' ||
    open.taken >= MAX_TAKEN ||
    seen >= INBOX_EVENTS ||
    performance.now() > until;
  const yieldToOthers = createYielder();
  const [snapshot] = await em.execute<{ oldest: string }[]>(
    'select oldest_open_transaction()::text as oldest',
  );
  // What was being stored when the pages before were read, and belongs there.
  ({ open } = await offerLate(em, open, audience));
  do {
    if (at === null || open.row.status !== 'open') break;
    const page = await inboxPage(em, row, audience, [at, id]);
    for await (const event of readEach(em, page)) {
      open.offer(event);
      [at, id] = [event.place, event.id];
      seen++;
      await yieldToOthers();
      if (isOver()) break;
    }
    if (page.length === 0) at = null;
  } while (!isOver());
  await saveListeners(em, [open]);
  // The oldest transaction that can have been open when the first of these pages was read.
  const next = { inbox_at: at, inbox_id: at === null ? null : id, seen_below: snapshot?.oldest ?? null };
  await em.execute(
    `update listener set inbox_at = ?::timestamptz, inbox_id = ?, seen_below = ?::xid8 where id = ?`,
    [next.inbox_at, next.inbox_id, next.seen_below, row.id],
  );
  return { ...open.row, ...next };
}

/**
 * Call in a transaction after that of `openListener` or `takeEvents`: an event whose transaction was open
 * then may have found no listener, and the listener may have missed the event.
 * @returns signals to deliver
 */
export async function catchUp(em: EntityManager, id: string): Promise<string[]> {
  const [row] = await lockListeners(em, [id]);
  if (!row || row.run_id === null || row.status !== 'open' || row.seen_below === null) return [];
  // The next page looks for them.
  if (row.inbox_at !== null) return [];
  const { open, signals } = await offerLate(em, new OpenListener(row), await audienceOf(em, row.run_id));
  signals.push(...(await saveListeners(em, [open])));
  await em.execute('update listener set seen_below = null where id = ?', [id]);
  return signals;
}

/**
 * Offers what transactions have stored that were open when earlier pages of the inbox, or all, had been read.
 * @returns the listener with what is not saved yet, and signals to deliver
 */
async function offerLate(
  em: EntityManager,
  listener: OpenListener,
  audience: Audience,
): Promise<{ open: OpenListener; signals: string[] }> {
  let open = listener;
  const signals: string[] = [];
  const yieldToOthers = createYielder();
  const { row } = listener;
  let page: readonly InboxEvent[];
  let after: readonly [string, string] = ['-infinity', FIRST];
  do {
    page = row.seen_below === null ? [] : await latePage(em, row, audience, after);
    for await (const event of readEach(em, page)) {
      open.offer(event);
      await yieldToOthers();
      if (open.taken < MAX_TAKEN) continue;
      signals.push(...(await saveListeners(em, [open])));
      open = new OpenListener(open.row);
    }
    const last = page.at(-1);
    if (last) after = [last.place, last.id];
  } while (page.length === LATE_PAGE && open.row.status === 'open');
  return { open, signals };
}

interface InboxEvent {
  id: string;
  /** When it was received. */
  place: string;
  bytes: number;
}

const FIELDS = 'i.id, i.received_at::text as place, octet_length(i.event::text) as bytes';

async function latePage(
  em: EntityManager,
  row: ListenerRow,
  audience: Audience,
  after: readonly [string, string],
): Promise<readonly InboxEvent[]> {
  const types = typesOfSpec(row.spec);
  return em.execute<InboxEvent[]>(
    `select ${FIELDS} from inbound_event i
      where i.owner_id = any(?::uuid[]) and i.tx >= ?::xid8
        and (?::text[] is null or i.type = any(?::text[]))
        and (?::timestamptz is null or (i.received_at, i.id) <= (?::timestamptz, ?::uuid))
        and (i.received_at, i.id) > (?::timestamptz, ?::uuid) and ${WANTED}
      order by i.received_at, i.id limit ${LATE_PAGE}`,
    [
      arrayLiteral(audience.senders),
      row.seen_below,
      types && arrayLiteral(types),
      types && arrayLiteral(types),
      row.inbox_at,
      row.inbox_at,
      row.inbox_id,
      ...after,
      ...wanted(row, audience),
    ],
  );
}

/** The next events in the order in which they were received. Each sender and type is read by the index. */
async function inboxPage(
  em: EntityManager,
  row: ListenerRow,
  audience: Audience,
  after: readonly [string, string | null],
): Promise<readonly InboxEvent[]> {
  const types = typesOfSpec(row.spec);
  return em.execute<InboxEvent[]>(
    `select ${FIELDS}
       from unnest(?::uuid[]) as s (owner_id)
            cross join unnest(?::text[]) as t (type)
            cross join lateral (
              select i.id, i.received_at, i.event from inbound_event i
               where i.owner_id = s.owner_id and ${types === null ? '' : 'i.type = t.type and'}
                     (i.received_at, i.id) > (?::timestamptz, ?::uuid) and ${WANTED}
               order by i.received_at, i.id limit ${PAGE}) i
      order by i.received_at, i.id limit ${PAGE}`,
    [arrayLiteral(audience.senders), arrayLiteral(types ?? ['']), ...after, ...wanted(row, audience)],
  );
}

/** A few at a time, whatever their size. */
async function* readEach(
  em: EntityManager,
  found: readonly InboxEvent[],
): AsyncGenerator<StoredEvent & InboxEvent> {
  for (let rest = found; rest.length > 0;) {
    let bytes = 0;
    const tooMany = rest.findIndex((event, index) => (bytes += event.bytes) > PAGE_BYTES || index >= PAGE);
    const few = tooMany < 0 ? rest : rest.slice(0, Math.max(1, tooMany));
    const events = await em.execute<{ id: string; event: Attributes }[]>(
      'select id, event from inbound_event where id = any(?::uuid[])',
      [arrayLiteral(few.map(({ id }) => id))],
    );
    const byId = new Map(events.map(({ id, event }) => [id, event]));
    for (const row of few) {
      const event = byId.get(row.id);
      if (event) yield { ...row, event };
    }
    rest = rest.slice(few.length);
  }
}

/** SQL: `i` is somebody else's event of a source that the user or team takes from another sender only. */
export const boundElsewhere = (holder: string): string => `exists (
  select from event_source b
   where b.holder_id = ${holder} and b.source = i.source and b.holder_id <> i.owner_id
     and (b.client_id is not null or b.user_id <> i.owner_id))`;

/** SQL: `i`, an event of another user, is for the user, whose own records of the source admit it. */
export const sharedWith = (user: string): string => `(
  exists (select from event_source s
           where s.holder_id = i.owner_id and s.source = i.source and ${user} = any(s.shared_with))
  and not ${boundElsewhere(user)})`;

/** SQL: `i`, an event since the run began, is for the run, and neither it nor one that it retries has it. */
const WANTED = `i.received_at >= ?::timestamptz
  and (i.owner_id = ? or i.owner_id = ?::uuid or ${sharedWith('?::uuid')})
  and not ${boundElsewhere('?::uuid')}
  and not exists (select from listener_event e join listener l on l.id = e.listener_id
                   where e.event_id = i.id and l.run_id = any(?::uuid[]))`;

/** The values of `WANTED`. */
function wanted(
  { since }: ListenerRow,
  { runs, owner_id: ownerId, team_id: teamId }: Audience,
): (string | null)[] {
  return [since, ownerId, teamId, ownerId, ownerId, teamId, arrayLiteral(runs)];
}

/** The types that a listener takes; null if it may take any. */
function typesOfSpec({ filters, until }: ListenerSpec): string[] | null {
  const all = [...filters, ...(until?.filters ?? [])].map((filter) => filter.with['type']);
  const literal = all.filter(isLiteralText);
  return filters.length > 0 && literal.length === all.length ? [...new Set(literal)] : null;
}

type AudienceRow = Omit<Audience, 'senders'> & { senders: string[] | null };

export async function audienceOf(em: EntityManager, runId: string): Promise<Audience> {
  const [row] = await em.execute<AudienceRow[]>(
    `select r.owner_id, r.team_id, to_json(w.event_senders) as senders,
            (with recursive chain as (
               select id, retry_of, 1 as place from run where id = r.id
               union all
               select b.id, b.retry_of, chain.place + 1 from chain join run b on b.id = chain.retry_of
                where chain.place < ${MAX_RETRIES})
             select json_agg(id order by place) from chain) as runs
       from run r left join workflow w on w.id = r.workflow_id and w.owner_id = r.owner_id where r.id = ?`,
    [runId],
  );
  if (!row) throw new Error('there is no such run');
  return {
    runs: row.runs,
    owner_id: row.owner_id,
    team_id: row.team_id,
    senders: [
      ...new Set([row.owner_id, ...(row.senders ?? []), ...(row.team_id === null ? [] : [row.team_id])]),
    ],
  };
}
