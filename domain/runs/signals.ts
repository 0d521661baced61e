/**
 * Signals to runs. Each is stored first and then sent under its row's id, repeatedly until the workflow
 * acknowledges it. An outage of Temporal therefore loses nothing, and the workflow drops ids that it has
 * seen.
 */
import { v7 as uuidv7 } from 'uuid';
import {
  ADVANCING_STATUSES,
  BROKEN_TASK_STATUSES,
  TERMINAL_STATUSES,
  WAITING_TASK_STATUSES,
} from '../../contracts/run-events.ts';
import { arrayLiteral, isNoneOf, isOneOf } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { storableJson } from '../storable.ts';
import type { RunSignal, SignalAddress } from '../../contracts/temporal.ts';

type WithoutAddress<T> = T extends unknown ? Omit<T, keyof SignalAddress> : never;
export type NewSignal = WithoutAddress<RunSignal>;

/**
 * Stores a signal; the caller chooses the id if it has to match another row's, such as a decision's. @returns
 * the signal's id, or null if the run has ended and takes no signals
 */
export async function enqueueSignal(
  em: EntityManager,
  runId: string,
  signal: NewSignal,
  options: { id?: string; by?: string | null } = {},
): Promise<string | null> {
  const id = options.id ?? uuidv7();
  const { kind, ...payload } = signal;
  const rows = await em.execute<{ id: string }[]>(
    `insert into run_signal (id, run_id, kind, payload, by_id)
     select ?::uuid, r.id, ?, ?::json, ?::uuid from run r
      where r.id = ? and ${isNoneOf('r.status', TERMINAL_STATUSES)}
     on conflict (id) do nothing returning id`,
    [id, kind, storableJson(payload), options.by ?? null, runId],
  );
  return rows[0]?.id ?? null;
}

export interface OpenSignal {
  run_id: string;
  signal: RunSignal;
}

interface SignalRow {
  id: string;
  run_id: string;
  kind: string;
  payload: Record<string, unknown>;
}

const toOpenSignal = (row: SignalRow): OpenSignal => ({
  run_id: row.run_id,
  // The assertion holds: the row was written from a NewSignal.
  signal: { ...row.payload, id: row.id, run_id: row.run_id, kind: row.kind } as unknown as RunSignal,
});

/** The given signals, without those already received. */
export async function readSignals(em: EntityManager, ids: string[]): Promise<OpenSignal[]> {
  if (ids.length === 0) return [];
  const rows = await em.execute<SignalRow[]>(
    `select id, run_id, kind, payload from run_signal
      where id = any(?::uuid[]) and received_at is null order by created_at, id`,
    [arrayLiteral(ids)],
  );
  return rows.map(toOpenSignal);
}

/** Of the signals that are repeated at once: events that a run has taken may be large. */
const MAX_PAYLOAD_BYTES = 16 * 1024 * 1024;

/**
 * SQL: the ids of the first rows, up to the one that brings their payloads to the bound. `due` selects `id`,
 * `next_at` and `payload`. Sizes as stored, which need no reading, bound what is read to know the others.
 */
const ofLimitedSize = (due: string): string => `
  select s.id
    from (select m.*, sum(m.size) over (order by m.next_at, m.id rows unbounded preceding) as size_sum
            from (select f.*, octet_length(f.payload::text) as size
                    from (select d.*, pg_column_size(d.payload) as stored,
                                 sum(pg_column_size(d.payload))
                                   over (order by d.next_at, d.id rows unbounded preceding) as stored_sum
                            from (${due}) d) f
                   where f.stored_sum - f.stored < ${MAX_PAYLOAD_BYTES}) m) s
   where s.size_sum - s.size < ${MAX_PAYLOAD_BYTES}`;

/**
 * Signals that are due to be repeated. Each is postponed by a doubling pause of 10 s to 10 min, so that other
 * processes do not send it too. Signals of runs that have not started yet are skipped.
 */
export async function takeDueSignals(em: EntityManager, limit: number): Promise<OpenSignal[]> {
  const rows = await em.execute<SignalRow[]>(
    `update run_signal s
        set attempts = s.attempts + 1,
            next_at = clock_timestamp()
              + least(interval '10 minutes', interval '10 seconds' * power(2, least(s.attempts, 10)))
      where s.id in (${ofLimitedSize(`
        select i.id, i.next_at, i.payload from run_signal i join run r on r.id = i.run_id
         where i.received_at is null and i.next_at <= clock_timestamp() - interval '5 seconds'
           and r.status <> 'pending'
         order by i.next_at limit ? for update of i skip locked`)})
     returning s.id, s.run_id, s.kind, s.payload`,
    [limit],
  );
  return rows.map(toOpenSignal);
}

/**
 * Signals that a run has received but not applied a minute later, while it is running. A power failure may
 * have lost the last seconds of Temporal's data after the database recorded the receipt. A workflow that
 * still has the signal drops the repeat. The pauses are those of `takeDueSignals`.
 */
export async function takeUnappliedSignals(em: EntityManager, limit: number): Promise<OpenSignal[]> {
  const rows = await em.execute<SignalRow[]>(
    `with unapplied as (
       select d.id from hitl_decision d join hitl_task t on t.id = d.task_id join run r on r.id = t.run_id
        where d.applied_at is null and d.received_at < clock_timestamp() - interval '1 minute'
          and ${isOneOf('r.status', ADVANCING_STATUSES)}
       union all
       select s.id from run_task t join run c on c.id = t.awaited_run_id join run r on r.id = t.run_id
         join run_signal s on s.run_id = t.run_id and s.kind = 'child.done'
                          and s.payload ->> 'child_run_id' = c.id::text
        where ${isOneOf('c.status', TERMINAL_STATUSES)}
          and s.received_at < clock_timestamp() - interval '1 minute'
          and ${isOneOf('r.status', ADVANCING_STATUSES)}
       union all
       select s.id from run_task t join run r on r.id = t.run_id
         join listener l on l.run_id = t.run_id and l.task_ref = t.reference and l.visit = t.visit
                        and l.signalled and l.status <> 'closed'
         join run_signal s on s.run_id = t.run_id and s.kind = 'events'
                          and s.payload ->> 'listener_id' = l.id::text
        where ${isOneOf('t.status', WAITING_TASK_STATUSES)} and t.type = 'listen'
          and s.received_at < clock_timestamp() - interval '1 minute'
          and ${isOneOf('r.status', ADVANCING_STATUSES)}
       union all
       select s.id from job j join run r on r.id = j.run_id
         left join run_task t on t.run_id = j.run_id and t.reference = j.task and t.visit = j.visit
         join run_signal s on s.run_id = j.run_id and s.kind = 'call.done' and s.payload ->> 'key' = j.key
        where j.finished_at is not null and j.taken_at is null
          and not coalesce(${isOneOf('t.status', BROKEN_TASK_STATUSES)}, false)
          and s.received_at < clock_timestamp() - interval '1 minute'
          and ${isOneOf('r.status', ADVANCING_STATUSES)}
     )
     update run_signal s
        set attempts = s.attempts + 1,
            next_at = clock_timestamp()
              + least(interval '10 minutes', interval '10 seconds' * power(2, least(s.attempts, 10)))
      where s.id in (${ofLimitedSize(`
        select i.id, i.next_at, i.payload from run_signal i
         where i.id in (select id from unapplied) and i.next_at <= clock_timestamp()
         order by i.next_at limit ? for update of i skip locked`)})
     returning s.id, s.run_id, s.kind, s.payload`,
    [limit],
  );
  return rows.map(toOpenSignal);
}

/** The commit does not wait for the disk: what a power failure takes with it is only sent again. */
const MARK_DELIVERED = new Prepared(
  `with sent as (
     update run_signal set delivered_at = coalesce(delivered_at, clock_timestamp())
      where id = any(?::uuid[]) and set_config('synchronous_commit', 'off', true) is not null
      returning id, delivered_at)
   update hitl_decision d set delivered_at = coalesce(d.delivered_at, sent.delivered_at)
     from sent where d.id = sent.id`,
);

/** The same, with the answers that say so. */
const MARK_ANSWERED = new Prepared(
  `with sent as (
     update run_signal set delivered_at = coalesce(delivered_at, clock_timestamp())
      where id = any(?::uuid[]) and set_config('synchronous_commit', 'off', true) is not null
      returning id, delivered_at),
   answered as (
     update idempotency_record r set body = a.body
       from json_to_recordset(?::json)
              as a (user_id uuid, method text, path text, key text, fingerprint text, body text)
      where r.user_id = a.user_id and r.method = a.method and r.path = a.path and r.key = a.key
        and r.fingerprint = a.fingerprint)
   update hitl_decision d set delivered_at = coalesce(d.delivered_at, sent.delivered_at)
     from sent where d.id = sent.id`,
);

/** An answer that is kept for an `Idempotency-Key`. */
export interface AnswerKept {
  user_id: string;
  method: string;
  path: string;
  key: string;
  fingerprint: string;
  body: unknown;
}

/** @param answers replace those that were kept before it was known that the signals have arrived */
export async function markDelivered(
  em: EntityManager,
  ids: string[],
  answers: readonly AnswerKept[] = [],
): Promise<void> {
  // A decision has its signal's id, and shows whether its run has received it.
  if (ids.length === 0) return;
  if (answers.length === 0) return void (await MARK_DELIVERED.execute(em, [arrayLiteral(ids)]));
  const rows = answers.map(({ user_id, method, path, key, fingerprint, body }) => {
    return { user_id, method, path, key, fingerprint, body: JSON.stringify(body) };
  });
  await MARK_ANSWERED.execute(em, [arrayLiteral(ids), JSON.stringify(rows)]);
}
