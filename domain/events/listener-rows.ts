/**
 * Rows of listeners: their keys in the index, the events they have taken, and the signals that tell runs.
 */
import { v7 as uuidv7 } from 'uuid';

import {
  MAX_TAKEN,
  MAX_TAKEN_BYTES,
  type ListenerSpec,
  type TakenEvents,
} from '../../contracts/listening.ts';
import { TERMINAL_STATUSES } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, isNoneOf } from '../../db/sql.ts';
import { storable } from '../storable.ts';
import type { Attributes } from './effort.ts';
import { keysOf } from './listener-keys.ts';
import { consume, type ListenerState } from './match.ts';

export interface ListenerRow {
  id: string;
  owner_id: string;
  /** Of its run or workflow: it hears the team's events. */
  team_id: string | null;
  run_id: string | null;
  workflow_id: string | null;
  part_of: string | null;
  spec: ListenerSpec;
  state: ListenerState;
  status: 'open' | 'done' | 'closed';
  last_seq: number;
  signalled: boolean;
  since: string;
  inbox_at: string | null;
  inbox_id: string | null;
  seen_below: string | null;
}

export interface StoredEvent {
  id: string;
  event: Attributes;
  bytes: number;
}

/** With the text of times, which has more digits than a Date. */
export const LISTENER_COLUMNS = `l.id, l.owner_id,
  coalesce((select r.team_id from run r where r.id = l.run_id),
           (select w.team_id from workflow w where w.id = l.workflow_id)) as team_id,
  l.run_id, l.workflow_id, l.part_of, l.spec, l.state,
  l.status, l.last_seq, l.signalled, l.since::text as since, l.inbox_at::text as inbox_at, l.inbox_id,
  l.seen_below::text as seen_below`;

export const NOTHING_YET: ListenerState = { bound: {}, had: { main: [], until: [] } };

/** Events up to this size travel in the signal itself. */
const INLINE_BYTES = 64 * 1024;

/**
 * A listener whose row is locked, while it takes events. `save` writes what has changed.
 */
export class OpenListener {
  readonly row: ListenerRow;
  readonly #stored: ListenerRow;
  readonly #taken: { event: StoredEvent; seq: number; role: 'main' | 'until' }[] = [];

  constructor(row: ListenerRow) {
    this.#stored = row;
    this.row = { ...row };
  }

  /** @returns whether the listener takes the event */
  offer(event: StoredEvent): boolean {
    const { row } = this;
    if (row.status !== 'open') return false;
    const consumed = consume(row.spec, row.state, event.event);
    if (consumed === null) return false;
    row.state = consumed.state;
    row.last_seq++;
    if (consumed.done) row.status = 'done';
    this.#taken.push({ event, seq: row.last_seq, role: consumed.role });
    return true;
  }

  get taken(): number {
    return this.#taken.length;
  }

  takenEvents(): TakenEvents {
    const events = this.#taken.map(({ event, seq, role }) => ({ seq, role, event: event.event }));
    return { events, done: this.row.status === 'done', more: false };
  }

  /** Whether other events are for it now than its keys in the index say. */
  get hasOtherKeys(): boolean {
    return keyText(this.#stored) !== keyText(this.row);
  }

  /** Whether the run has to be told now. */
  get tells(): boolean {
    const { row } = this;
    const isComplete = row.status === 'done' || !row.spec.once;
    return row.run_id !== null && this.taken > 0 && isComplete && !row.signalled;
  }

  /** For a signal: the events, if they are few and small and nothing came before them. */
  get inline(): TakenEvents {
    const isWhole = this.#taken.length === this.row.last_seq || !this.row.spec.once;
    const bytes = this.#taken.reduce((sum, { event }) => sum + event.bytes, 0);
    const { done } = this.takenEvents();
    return isWhole && bytes <= INLINE_BYTES && this.taken <= MAX_TAKEN
      ? { ...this.takenEvents(), more: !done }
      : { events: [], done: false, more: true };
  }

  get rows(): { listener_id: string; event_id: string; seq: number; role: string }[] {
    return this.#taken.map(({ event, seq, role }) => ({
      listener_id: this.row.id,
      event_id: event.id,
      seq,
      role,
    }));
  }
}

/**
 * Writes what listeners have taken, and stores a signal for each run that has to be told.
 * @returns the ids of the signals, to deliver after the commit
 */
export async function saveListeners(
  em: EntityManager,
  listeners: readonly OpenListener[],
): Promise<string[]> {
  const changed = listeners.filter(({ taken }) => taken > 0);
  if (changed.length === 0) return [];
  const signals = await tellRuns(em, changed);
  await em.execute(
    `update listener l set state = c.state, status = c.status, last_seq = c.last_seq, signalled = c.signalled
       from json_to_recordset(?::json)
              as c (id uuid, state jsonb, status text, last_seq int, signalled boolean)
      where l.id = c.id`,
    [
      JSON.stringify(
        changed.map(({ row: { id, state, status, last_seq, signalled } }) => ({
          id,
          state,
          status,
          last_seq,
          signalled,
        })),
      ),
    ],
  );
  await em.execute(
    `insert into listener_event (listener_id, event_id, seq, role)
     select listener_id, event_id, seq, role from json_to_recordset(?::json)
       as e (listener_id uuid, event_id uuid, seq int, role text)`,
    [JSON.stringify(changed.flatMap(({ rows }) => rows))],
  );
  await rewriteKeys(
    em,
    changed.filter(({ hasOtherKeys }) => hasOtherKeys),
  );
  return signals;
}

/** Stores the signals in one statement. A listener whose run has ended is closed. */
async function tellRuns(em: EntityManager, listeners: readonly OpenListener[]): Promise<string[]> {
  const toNotify = listeners.filter(({ tells }) => tells);
  if (toNotify.length === 0) return [];
  const rows = toNotify.map(({ row, inline }) => ({
    id: uuidv7(),
    run_id: row.run_id,
    payload: storable({ listener_id: row.id, taken: inline }),
  }));
  const stored = await em.execute<{ id: string }[]>(
    `insert into run_signal (id, run_id, kind, payload)
     select s.id, s.run_id, 'events', s.payload
       from json_to_recordset(?::json) as s (id uuid, run_id uuid, payload json)
            join run r on r.id = s.run_id
      where ${isNoneOf('r.status', TERMINAL_STATUSES)} returning id`,
    [JSON.stringify(rows)],
  );
  const ids = new Set(stored.map(({ id }) => id));
  for (const [index, { row }] of toNotify.entries()) {
    if (ids.has(rows[index]?.id ?? '')) row.signalled = true;
    else row.status = 'closed';
  }
  return [...ids];
}

function keyText(row: ListenerRow): string {
  return row.status === 'open' ? JSON.stringify(keysOf(row.spec, row.state).keys) : '';
}

async function rewriteKeys(em: EntityManager, listeners: readonly OpenListener[]): Promise<void> {
  if (listeners.length === 0) return;
  const ids = arrayLiteral(listeners.map(({ row }) => row.id));
  const senders = await em.execute<{ listener_id: string; sender_id: string }[]>(
    `delete from listener_key where listener_id = any(?::uuid[]) returning listener_id, sender_id`,
    [ids],
  );
  const bySender = Map.groupBy(senders, ({ listener_id }) => listener_id);
  for (const { row } of listeners) {
    if (row.status !== 'open') continue;
    const ofListener = new Set((bySender.get(row.id) ?? []).map(({ sender_id }) => sender_id));
    await insertKeys(em, row, [...ofListener]);
  }
}

/** Enters an open listener in the index, for events of these users. */
export async function insertKeys(
  em: EntityManager,
  { id, spec, state }: Pick<ListenerRow, 'id' | 'spec' | 'state'>,
  senders: readonly string[],
): Promise<void> {
  const { keys, shapes } = keysOf(spec, state);
  await em.execute(
    `insert into listener_shape (shape, definition)
     select shape, definition from json_to_recordset(?::json) as s (shape text, definition json)
     on conflict do nothing`,
    [JSON.stringify([...shapes].map(([shape, definition]) => ({ shape, definition })))],
  );
  await em.execute(
    `insert into listener_key (sender_id, type, shape, value, listener_id)
     select s, k.type, k.shape, k.value, ?::uuid
       from unnest(?::uuid[]) s, json_to_recordset(?::json) as k (type text, shape text, value text)
     on conflict do nothing`,
    [id, arrayLiteral(senders), JSON.stringify(keys)],
  );
}

/** Locks listeners in the order of their ids. */
export async function lockListeners(em: EntityManager, ids: readonly string[]): Promise<ListenerRow[]> {
  if (ids.length === 0) return [];
  return em.execute<ListenerRow[]>(
    `select ${LISTENER_COLUMNS} from listener l where l.id = any(?::uuid[]) order by l.id for update`,
    [arrayLiteral(ids)],
  );
}

/** The events that a listener has taken after `after`: at most 100, of 256 KiB unless there is only one. */
export async function readTaken(
  em: EntityManager,
  { id, status }: Pick<ListenerRow, 'id' | 'status'>,
  after: number,
): Promise<TakenEvents> {
  const rows = await em.execute<{ seq: number; role: 'main' | 'until'; event: Attributes; left: number }[]>(
    `select t.seq, t.role, i.event, t.left from (
       select e.seq, e.role, e.event_id,
              sum(octet_length(i.event::text)) over (order by e.seq) as bytes,
              row_number() over (order by e.seq) as n, (count(*) over ())::int as left
         from (select * from listener_event where listener_id = ? and seq > ? order by seq limit ?) e
              join inbound_event i on i.id = e.event_id) t
       join inbound_event i on i.id = t.event_id
      where t.bytes <= ${MAX_TAKEN_BYTES} or t.n = 1
      order by t.seq limit ${MAX_TAKEN}`,
    [id, after, MAX_TAKEN + 1],
  );
  const isLast = rows.length === (rows[0]?.left ?? 0);
  return {
    events: rows.map(({ seq, role, event }) => ({ seq, role, event })),
    done: isLast && status === 'done',
    more: !isLast,
  };
}
