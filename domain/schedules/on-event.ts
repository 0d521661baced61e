/**
 * Starts runs by events (`schedule.on`). The run's row and the note that an event has counted are one
 * transaction, so each event counts once, whatever is killed. A start that still lacks events, or has to wait
 * for an earlier run, is a listener that is part of the schedule's.
 */
import { v7 as uuidv7 } from 'uuid';

import { readEvent } from '../../contracts/listening.ts';
import type { EntityManager } from '../../db/orm.ts';
import {
  insertKeys,
  LISTENER_COLUMNS,
  NOTHING_YET,
  type ListenerRow,
  type StoredEvent,
} from '../events/listener-rows.ts';
import type { Attributes } from '../events/effort.ts';
import { spanOfEvent } from '../events/event-trace.ts';
import { consume, isUntil, type Consumption } from '../events/match.ts';
import { createYielder } from '../events/yield-to-others.ts';
import { contextOf, inContext, isTracing, type TraceTexts } from '../../tracing/context.ts';
import type { RunLimits } from '../runs/limits.ts';
import { hasLiveRun, readSchedule, type ScheduleRow } from './row.ts';
import { closedBy, createScheduledRun, noteStart } from './start.ts';

/** Starts of one schedule that lack events or wait. */
const MAX_PARTS = 1_000;
/** Events of one start, and their bytes: they are the input of one run. */
const MAX_EVENTS = 1_000;
const MAX_EVENT_BYTES = 4 * 1024 * 1024;
/** Events that the record of the run names. */
const NAMED_EVENTS = 100;
const NOT_RUNNABLE = 'The definition has problems, or uses what is not supported yet.';

interface Arrival {
  workflowId: string;
  event: StoredEvent;
  limits: RunLimits;
}

type EventSchedule = ScheduleRow & { times: Extract<NonNullable<ScheduleRow['times']>, { kind: 'on' }> };

async function lockEventSchedule(em: EntityManager, workflowId: string): Promise<EventSchedule | null> {
  const schedule = await readSchedule(em, workflowId, { lock: true });
  return schedule?.times?.kind === 'on' ? { ...schedule, times: schedule.times } : null;
}

/** @returns the run that the event starts; the caller starts it after the commit */
export async function startByEvent(em: EntityManager, arrival: Arrival): Promise<string | null> {
  const { workflowId, event, limits } = arrival;
  const schedule = await lockEventSchedule(em, workflowId);
  if (schedule === null) return null;
  // Starts that lack events come before new ones, the oldest first.
  const rows = await em.execute<ListenerRow[]>(
    `select ${LISTENER_COLUMNS} from listener l
      where l.workflow_id = ? and l.status = 'open' order by l.part_of nulls last, l.id for update`,
    [workflowId],
  );
  const found = await taking(rows, event);
  if (found === null || !(await counts(em, workflowId, event))) return null;
  const closed = closedBy(schedule) ?? (schedule.runnable ? null : NOT_RUNNABLE);
  if (closed !== null) return skip(em, schedule, closed);
  const { row, consumption } = found;
  const part = row.part_of === null ? await newPart(em, schedule, row, consumption) : row;
  if (part === null) return null;
  const added = await addEvent(em, schedule, part, event, consumption);
  if (added !== 'too large') return added === 'done' ? startPart(em, schedule, part.id, limits) : null;
  await removePart(em, part.id);
  return skip(em, schedule, `The events of a start have more than ${MAX_EVENT_BYTES} bytes.`, 'failed');
}

async function taking(
  rows: readonly ListenerRow[],
  event: StoredEvent,
): Promise<{ row: ListenerRow; consumption: Consumption } | null> {
  const yieldToOthers = createYielder();
  for (const row of rows) {
    await yieldToOthers();
    const consumption = consume(row.spec, row.state, event.event);
    // What only ends a start begins none.
    if (consumption && !(consumption.role === 'until' && row.part_of === null)) return { row, consumption };
  }
  return null;
}

async function counts(em: EntityManager, workflowId: string, { id }: StoredEvent): Promise<boolean> {
  const rows = await em.execute<object[]>(
    `insert into schedule_event (workflow_id, event_id) values (?, ?) on conflict do nothing returning 1`,
    [workflowId, id],
  );
  return rows.length > 0;
}

async function skip(
  em: EntityManager,
  { workflow_id: id }: EventSchedule,
  reason: string,
  outcome: 'skipped' | 'failed' = 'skipped',
): Promise<null> {
  await noteStart(em, { workflowId: id, at: await nextPlace(em, id), cause: 'event' }, outcome, reason);
  return null;
}

async function newPart(
  em: EntityManager,
  schedule: EventSchedule,
  whole: ListenerRow,
  { state }: Consumption,
): Promise<ListenerRow | null> {
  const { workflow_id: workflowId } = schedule;
  const [open] = await em.execute<{ count: number }[]>(
    `select count(*)::int as count from listener where workflow_id = ? and part_of is not null`,
    [workflowId],
  );
  if ((open?.count ?? 0) >= MAX_PARTS)
    return skip(em, schedule, `More than ${MAX_PARTS} starts lack events, or wait.`);
  const part: ListenerRow = { ...whole, id: uuidv7(), part_of: whole.id, state, last_seq: 0 };
  await em.execute(
    `insert into listener (id, owner_id, workflow_id, part_of, spec, state, since)
     values (?, ?, ?, ?, ?::json, ?::jsonb, ?::timestamptz)`,
    [
      part.id,
      whole.owner_id,
      workflowId,
      whole.id,
      JSON.stringify(whole.spec),
      JSON.stringify(NOTHING_YET),
      whole.since,
    ],
  );
  return part;
}

/** @returns whether the start has all its events. One with `any` begins with those that it has. */
async function addEvent(
  em: EntityManager,
  { times }: EventSchedule,
  part: ListenerRow,
  event: StoredEvent,
  { role, state, done }: Consumption,
): Promise<'open' | 'done' | 'too large'> {
  const seq = part.last_seq + 1;
  await em.execute('insert into listener_event (listener_id, event_id, seq, role) values (?, ?, ?, ?)', [
    part.id,
    event.id,
    seq,
    role,
  ]);
  const { until } = times;
  const isLarge = (await bytesOf(em, part.id)) > MAX_EVENT_BYTES;
  if (isLarge && part.spec.mode === 'all') return 'too large';
  const isDone =
    done ||
    isLarge ||
    seq >= MAX_EVENTS ||
    (until !== null && isUntil(until, read(await eventsOf(em, part.id), times.read), part.spec.variables));
  await em.execute(`update listener set state = ?::jsonb, last_seq = ?, status = ? where id = ?`, [
    JSON.stringify(state),
    seq,
    isDone ? 'done' : 'open',
    part.id,
  ]);
  const senders = await em.execute<{ sender_id: string }[]>(
    'select distinct sender_id from listener_key where listener_id = ?',
    [part.part_of],
  );
  await em.execute('delete from listener_key where listener_id = ?', [part.id]);
  if (!isDone)
    await insertKeys(
      em,
      { ...part, state },
      senders.map(({ sender_id }) => sender_id),
    );
  return isDone ? 'done' : 'open';
}

async function bytesOf(em: EntityManager, listenerId: string): Promise<number> {
  const [row] = await em.execute<{ bytes: number }[]>(
    `select coalesce(sum(octet_length(i.event::text)), 0)::int as bytes
       from listener_event e join inbound_event i on i.id = e.event_id where e.listener_id = ?`,
    [listenerId],
  );
  return row?.bytes ?? 0;
}

interface StartingEvent extends TraceTexts {
  id: string;
  event: Attributes;
}

async function eventsOf(em: EntityManager, listenerId: string): Promise<StartingEvent[]> {
  return em.execute<StartingEvent[]>(
    `select i.id, i.event, i.traceparent, i.tracestate
       from listener_event e join inbound_event i on i.id = e.event_id
      where e.listener_id = ? and e.role = 'main' order by e.seq`,
    [listenerId],
  );
}

/**
 * Who sent the events, also one that only ended the gathering: the person, the initiators of the run that
 * emitted it. Of a call of an inbound webhook nobody is known.
 */
async function sendersOf(em: EntityManager, listenerId: string): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `select distinct p.id
       from listener_event e join inbound_event i on i.id = e.event_id left join run r on r.id = i.run_id
            cross join lateral (
              select i.sent_by as id union all
              select unnest(r.initiator_ids || r.owner_id) union all
              select i.owner_id where i.run_id is not null) p
      where e.listener_id = ? and p.id is not null`,
    [listenerId],
  );
  return rows.map(({ id }) => id);
}

function read(events: readonly StartingEvent[], mode: EventSchedule['times']['read']): unknown[] {
  return events.map(({ event }) => readEvent(event, mode));
}

/** Starts what has all its events, unless it has to wait; then the reconciler starts it. */
async function startPart(
  em: EntityManager,
  schedule: EventSchedule,
  id: string,
  limits: RunLimits,
): Promise<string | null> {
  const { workflow_id: workflowId, overlap, times } = schedule;
  if (overlap !== 'allow' && (await hasLiveRun(em, workflowId))) {
    if (overlap === 'buffer_one' && !(await anotherWaits(em, workflowId, id))) return null;
    await removePart(em, id);
    return skip(em, schedule, 'An earlier run has not ended.');
  }
  const events = await eventsOf(em, id);
  const at = await nextPlace(em, workflowId);
  const senders = await sendersOf(em, id);
  const dueSince = await lastEventAt(em, id);
  const started = await inTraceOf(events, () =>
    createScheduledRun(
      em,
      schedule,
      { workflowId, at, cause: 'event', dueSince, limits },
      {
        input: read(events, times.read),
        started_by: events.slice(0, NAMED_EVENTS).map((event) => event.id),
        initiators: senders,
      },
    ),
  );
  // At a quota of runs it waits until there is room.
  if (started.outcome === 'buffered') return null;
  await removePart(em, id);
  return started.run_id;
}

/** Since when the start has had all its events. */
async function lastEventAt(em: EntityManager, listenerId: string): Promise<Date> {
  const [row] = await em.execute<{ at: Date | null }[]>(
    `select max(i.received_at) as at
       from listener_event e join inbound_event i on i.id = e.event_id where e.listener_id = ?`,
    [listenerId],
  );
  return new Date(row?.at ?? Date.now());
}

/** The run goes on with the trace of the first event; to those of the others it is linked when it ends. */
function inTraceOf<T>([first]: readonly StartingEvent[], start: () => Promise<T>): Promise<T> {
  const span = first && isTracing() ? spanOfEvent(first) : null;
  return span === null ? start() : inContext(contextOf(span), start);
}

async function anotherWaits(em: EntityManager, workflowId: string, id: string): Promise<boolean> {
  const rows = await em.execute<object[]>(
    `select from listener where workflow_id = ? and status = 'done' and id <> ? limit 1`,
    [workflowId, id],
  );
  return rows.length > 0;
}

async function removePart(em: EntityManager, id: string): Promise<void> {
  await em.execute('delete from listener where id = ?', [id]);
}

/**
 * Schedules of which a start waits and may begin now, in no order: those at a quota must not keep others from
 * their turn.
 */
export async function waitingStarts(em: EntityManager, limit: number): Promise<string[]> {
  const rows = await em.execute<{ workflow_id: string }[]>(
    `select workflow_id from (
       select distinct workflow_id from listener where workflow_id is not null and status = 'done') waiting
      order by random() limit ?`,
    [limit],
  );
  return rows.map(({ workflow_id }) => workflow_id);
}

/** @returns the run of the oldest start that waits; null if none may begin */
export async function startWaiting(
  em: EntityManager,
  workflowId: string,
  limits: RunLimits,
): Promise<string | null> {
  const schedule = await lockEventSchedule(em, workflowId);
  if (schedule === null) return null;
  const [part] = await em.execute<{ id: string }[]>(
    `select id from listener where workflow_id = ? and status = 'done' order by id limit 1 for update`,
    [workflowId],
  );
  if (!part || (schedule.overlap !== 'allow' && (await hasLiveRun(em, workflowId)))) return null;
  const closed = closedBy(schedule) ?? (schedule.runnable ? null : NOT_RUNNABLE);
  if (closed === null) return startPart(em, schedule, part.id, limits);
  await removePart(em, part.id);
  return skip(em, schedule, closed);
}

/** A time of its own for each start: now, or a millisecond after the last one. */
async function nextPlace(em: EntityManager, workflowId: string): Promise<Date> {
  const [row] = await em.execute<{ at: Date }[]>(
    `select greatest(date_trunc('milliseconds', clock_timestamp()),
                     (select max(scheduled_at) from schedule_start where workflow_id = ?)
                       + interval '1 millisecond') as at`,
    [workflowId],
  );
  return new Date(row?.at ?? Date.now());
}
