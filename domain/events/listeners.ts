/**
 * Listeners of runs: opened by a `listen` task, with the events since the run began, asked for more, closed.
 * `em` is in the transaction that also appends to the run's log, so the run's row is locked.
 */
import { isLiteralText, MAX_TAKEN, type ListenerSpec, type TakenEvents } from '../../contracts/listening.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { MAX_RETRIES } from '../runs/limits.ts';
import {
  insertKeys,
  lockListeners,
  NOTHING_YET,
  OpenListener,
  readTaken,
  saveListeners,
  type ListenerRow,
  type StoredEvent,
} from './listener-rows.ts';
import type { Attributes } from './match.ts';
import { createRests } from './rests.ts';

export interface NewListener {
  id: string;
  run_id: string;
  task: string;
  visit: number;
  spec: ListenerSpec;
  /** The listener of the run that this one retries, and the last event that it has worked on. */
  resumes?: { id: string; seq: number };
}

/** The run's owner, and the users whose events its workflow lists. */
interface Audience {
  /** The run, and those that it retries, the first one last. */
  runs: string[];
  owner_id: string;
  senders: string[];
}

const PAGE = 100;
const PAGE_BYTES = 4 * 1024 * 1024;
/** What one transaction reads of an inbox. The run is locked meanwhile. */
const INBOX_MS = 1_000;
const INBOX_EVENTS = 5_000;

/** @returns the first events, and up to which event the retried run has worked. Repeating it is harmless. */
export async function openListener(
  em: EntityManager,
  listener: NewListener,
): Promise<TakenEvents & { after: number }> {
  const audience = await audienceOf(em, listener.run_id);
  const [known] = await lockListeners(em, [listener.id]);
  const worked = known ? 0 : await insertListener(em, listener, audience);
  const [row] = known ? [known] : await lockListeners(em, [listener.id]);
  if (!row) throw new Error('the listener was not stored');
  // The retried run's events come first, so their number tells where the others begin.
  const after = listener.resumes === undefined ? 0 : known ? await replayed(em, listener) : worked;
  return { ...(await nextEvents(em, row, audience, after)), after };
}

/** @returns how many events of the retried run the listener has taken over */
async function insertListener(
  em: EntityManager,
  { id, run_id: runId, task, visit, spec, resumes }: NewListener,
  audience: Audience,
): Promise<number> {
  await em.execute(
    `insert into listener (id, owner_id, run_id, task_ref, visit, spec, state, since, inbox_at, inbox_id)
     select ?, r.owner_id, r.id, ?, ?, ?::json, ?::jsonb, first.created_at, first.created_at,
            '00000000-0000-0000-0000-000000000000'
       from run r join run first on first.id = ?::uuid
      where r.id = ?`,
    [
      id,
      task,
      visit,
      JSON.stringify(spec),
      JSON.stringify(NOTHING_YET),
      audience.runs.at(-1) ?? runId,
      runId,
    ],
  );
  const row = { id, spec, state: NOTHING_YET };
  await insertKeys(em, row, audience.senders);
  const before = resumes === undefined ? [] : await workedOn(em, runId, resumes);
  if (before.length === 0) return 0;
  const [locked] = await lockListeners(em, [id]);
  if (!locked) return 0;
  const open = new OpenListener(locked);
  for (const event of before) open.offer(event);
  // The run asks for what follows, so it need not be told.
  open.row.signalled = true;
  await saveListeners(em, new Map([[id, locked]]), [open]);
  return open.row.last_seq;
}

async function replayed(em: EntityManager, { id, run_id: runId, resumes }: NewListener): Promise<number> {
  if (resumes === undefined) return 0;
  const events = await workedOn(em, runId, resumes);
  const [row] = await em.execute<{ seq: number }[]>(
    `select coalesce(max(seq), 0)::int as seq from listener_event
      where listener_id = ? and event_id = any(?::uuid[])`,
    [id, arrayLiteral(events.map((event) => event.id))],
  );
  return row?.seq ?? 0;
}

async function workedOn(
  em: EntityManager,
  runId: string,
  { id, seq }: { id: string; seq: number },
): Promise<StoredEvent[]> {
  return em.execute<StoredEvent[]>(
    `select i.id, i.event, octet_length(i.event::text) as bytes
       from listener_event e join listener l on l.id = e.listener_id join inbound_event i on i.id = e.event_id
            join run r on r.retry_of = l.run_id
      where e.listener_id = ? and r.id = ? and e.seq <= ? order by e.seq`,
    [id, runId, seq],
  );
}

/**
 * The events after `after`. Without any, the run is told of the next one by a signal, unless there may be
 * more in its inbox.
 */
export async function takeEvents(
  em: EntityManager,
  { id, run_id: runId, after }: { id: string; run_id: string; after: number },
): Promise<TakenEvents> {
  const [row] = await lockListeners(em, [id]);
  if (!row || row.run_id !== runId || row.status === 'closed') return { events: [], done: true, more: false };
  return nextEvents(em, row, await audienceOf(em, runId), after);
}

async function nextEvents(
  em: EntityManager,
  row: ListenerRow,
  audience: Audience,
  after: number,
): Promise<TakenEvents> {
  let current = row;
  let taken = await readTaken(em, current, after);
  if (taken.events.length === 0 && current.status === 'open' && current.inbox_at !== null) {
    current = await readInbox(em, current, audience);
    taken = await readTaken(em, current, after);
  }
  const isWaiting = taken.events.length === 0 && !taken.done && current.inbox_at === null;
  if (current.signalled === isWaiting)
    await em.execute('update listener set signalled = ? where id = ?', [!isWaiting, row.id]);
  return { ...taken, more: !isWaiting && !taken.done };
}

/**
 * Offers the listener the events since its run began, page by page, until it has enough or it is time for
 * others; the run then asks again. After the last page it takes part in what comes (`catchUp` finds what
 * came in between).
 */
async function readInbox(em: EntityManager, row: ListenerRow, audience: Audience): Promise<ListenerRow> {
  const open = new OpenListener(row);
  // The run is being answered, so it need not be told.
  open.row.signalled = true;
  let { inbox_at: at, inbox_id: id } = row;
  const until = performance.now() + INBOX_MS;
  let seen = 0;
  const isOver = (): boolean =>
    open.row.status !== 'open' ||
    open.taken >= MAX_TAKEN ||
    seen >= INBOX_EVENTS ||
    performance.now() > until;
  const rest = createRests();
  const [snapshot] = await em.execute<{ oldest: string }[]>(
    'select pg_snapshot_xmin(pg_current_snapshot())::text as oldest',
  );
  // What was being stored when the pages before were read, and belongs there.
  const missed = await lateEvents(em, row, audience);
  for await (const event of readEach(em, missed)) open.offer(event);
  do {
    if (at === null || open.row.status !== 'open') break;
    const page = await inboxPage(em, row, audience, [at, id]);
    for await (const event of readEach(em, page)) {
      open.offer(event);
      [at, id] = [event.place, event.id];
      seen++;
      await rest();
      if (isOver()) break;
    }
    if (page.length === 0) at = null;
  } while (!isOver());
  await saveListeners(em, new Map([[row.id, row]]), [open]);
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
  const open = new OpenListener(row);
  const late = await lateEvents(em, row, await audienceOf(em, row.run_id));
  const rest = createRests();
  for await (const event of readEach(em, late)) {
    open.offer(event);
    await rest();
  }
  const signals = await saveListeners(em, new Map([[id, row]]), [open]);
  await em.execute('update listener set seen_below = null where id = ?', [id]);
  return signals;
}

interface InboxEvent {
  id: string;
  /** When it was received. */
  place: string;
  bytes: number;
}

const FIELDS = 'i.id, i.received_at::text as place, octet_length(i.event::text) as bytes';

/** Events that transactions have stored which were open when earlier pages, or all, had been read. */
async function lateEvents(
  em: EntityManager,
  row: ListenerRow,
  audience: Audience,
): Promise<readonly InboxEvent[]> {
  if (row.seen_below === null) return [];
  const types = typesOfSpec(row.spec);
  return em.execute<InboxEvent[]>(
    `select ${FIELDS} from inbound_event i
      where i.owner_id = any(?::uuid[]) and i.tx >= ?::xid8
        and (?::text[] is null or i.type = any(?::text[]))
        and (?::timestamptz is null or (i.received_at, i.id) <= (?::timestamptz, ?::uuid)) and ${WANTED}
      order by i.received_at, i.id`,
    [
      arrayLiteral(audience.senders),
      row.seen_below,
      types && arrayLiteral(types),
      types && arrayLiteral(types),
      row.inbox_at,
      row.inbox_at,
      row.inbox_id,
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

/** SQL: `i`, an event of another user, is for the user `?`, whose own records of the source admit it. */
export const SHARED = `(
  exists (select from event_source s
           where s.owner_id = i.owner_id and s.source = i.source and ?::uuid = any(s.shared_with))
  and not exists (select from event_source b
                   where b.owner_id = ?::uuid and b.source = i.source
                     and (b.client_id is not null or b.user_id <> i.owner_id)))`;

/** SQL: `i`, an event since the run began, is for the run, and neither it nor one that it retries has it. */
const WANTED = `i.received_at >= ?::timestamptz and (i.owner_id = ? or ${SHARED})
  and not exists (select from listener_event e join listener l on l.id = e.listener_id
                   where e.event_id = i.id and l.run_id = any(?::uuid[]))`;

/** The values of `WANTED`. */
function wanted({ since }: ListenerRow, { runs, owner_id: ownerId }: Audience): string[] {
  return [since, ownerId, ownerId, ownerId, arrayLiteral(runs)];
}

/** The types that a listener takes; null if it may take any. */
function typesOfSpec({ filters, until }: ListenerSpec): string[] | null {
  const all = [...filters, ...(until?.filters ?? [])].map((filter) => filter.with['type']);
  const literal = all.filter(isLiteralText);
  return filters.length > 0 && literal.length === all.length ? [...new Set(literal)] : null;
}

async function audienceOf(em: EntityManager, runId: string): Promise<Audience> {
  const [row] = await em.execute<{ owner_id: string; senders: string[] | null; runs: string[] }[]>(
    `select r.owner_id, to_json(w.event_senders) as senders,
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
    senders: [...new Set([row.owner_id, ...(row.senders ?? [])])],
  };
}

/**
 * Ends a listener. Events after `seq`, on which the run has not worked, are free for its next `listen`.
 */
export async function closeListener(
  em: EntityManager,
  { id, run_id: runId, seq }: { id: string; run_id: string; seq: number },
): Promise<void> {
  const closed = await em.execute<object[]>(
    `update listener set status = 'closed' where id = ? and run_id = ? returning 1`,
    [id, runId],
  );
  if (closed.length === 0) return;
  await em.execute('delete from listener_key where listener_id = ?', [id]);
  await em.execute('delete from listener_event where listener_id = ? and seq > ?', [id, seq]);
}
