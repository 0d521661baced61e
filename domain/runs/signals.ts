/**
 * Signals to runs: a row first, then the signal with the row's id, repeated until the workflow acknowledges it
 * in a batch. So Temporal away loses nothing, and the workflow drops an id that it has seen.
 */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '@mikro-orm/postgresql';
import { storable } from '../storable.ts';
import type { RunSignal } from '../../contracts/temporal.ts';

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;
export type NewSignal = WithoutId<RunSignal>;

/**
 * Writes a signal's row; the id is the caller's where the signal has one of its own (a decision's).
 * @returns the signal's id, or null if the run is over and takes none.
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
      where r.id = ? and r.status not in ('cancelled', 'faulted', 'completed')
     on conflict (id) do nothing returning id`,
    [id, kind, JSON.stringify(storable(payload)), options.by ?? null, runId],
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
  // The row was written from a NewSignal.
  signal: { ...row.payload, id: row.id, kind: row.kind } as unknown as RunSignal,
});

/** The given signals, those not yet received. */
export async function readSignals(em: EntityManager, ids: string[]): Promise<OpenSignal[]> {
  if (ids.length === 0) return [];
  const rows = await em.execute<SignalRow[]>(
    `select id, run_id, kind, payload from run_signal where id = any(?::uuid[]) and received_at is null order by created_at, id`,
    [`{${ids.join(',')}}`],
  );
  return rows.map(toOpenSignal);
}

/**
 * Signals due to be sent again, each moved on by a doubling pause of 10 s to 10 min, so that copies do not send the same.
 * Those of runs that still wait for their start are left for later.
 */
export async function takeDueSignals(em: EntityManager, limit: number): Promise<OpenSignal[]> {
  const rows = await em.execute<SignalRow[]>(
    `update run_signal s
        set attempts = s.attempts + 1,
            next_at = clock_timestamp() + least(interval '10 minutes', interval '10 seconds' * power(2, least(s.attempts, 10)))
      where s.id in (
        select i.id from run_signal i join run r on r.id = i.run_id
         where i.received_at is null and i.next_at <= clock_timestamp() - interval '5 seconds' and r.status <> 'pending'
         order by i.next_at limit ? for update of i skip locked)
     returning s.id, s.run_id, s.kind, s.payload`,
    [limit],
  );
  return rows.map(toOpenSignal);
}

/**
 * Signals that a run has taken in and, a minute later, not made use of, while it goes on. Temporal may have lost them with
 * its last seconds in a power failure, after the database had written that they were received; a workflow that still has one
 * drops the repeat. Same pauses as above.
 */
export async function takeUnappliedSignals(em: EntityManager, limit: number): Promise<OpenSignal[]> {
  const rows = await em.execute<SignalRow[]>(
    `with unapplied as (
       select d.id from hitl_decision d join hitl_task t on t.id = d.task_id join run r on r.id = t.run_id
        where d.applied_at is null and d.received_at < clock_timestamp() - interval '1 minute' and r.status in ('running', 'waiting')
       union all
       select s.id from run_task t join run c on c.id = t.child_run_id join run r on r.id = t.run_id
         join run_signal s on s.run_id = t.run_id and s.kind = 'child.done' and s.payload ->> 'child_run_id' = c.id::text
        where t.status in ('running', 'waiting') and c.status in ('cancelled', 'faulted', 'completed')
          and s.received_at < clock_timestamp() - interval '1 minute' and r.status in ('running', 'waiting')
     )
     update run_signal s
        set attempts = s.attempts + 1,
            next_at = clock_timestamp() + least(interval '10 minutes', interval '10 seconds' * power(2, least(s.attempts, 10)))
      where s.id in (
        select i.id from run_signal i where i.id in (select id from unapplied) and i.next_at <= clock_timestamp()
         order by i.next_at limit ? for update of i skip locked)
     returning s.id, s.run_id, s.kind, s.payload`,
    [limit],
  );
  return rows.map(toOpenSignal);
}

export async function markDelivered(em: EntityManager, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  // A decision has its signal's id, and shows whether the run has been told.
  await em.execute(
    `with sent as (
       update run_signal set delivered_at = coalesce(delivered_at, clock_timestamp()) where id = any(?::uuid[]) returning id, delivered_at)
     update hitl_decision d set delivered_at = coalesce(d.delivered_at, sent.delivered_at) from sent where d.id = sent.id`,
    [`{${ids.join(',')}}`],
  );
}
