/**
 * Tells listeners of events. Each event is stored first and matched in later transactions, so the request
 * that sends it does not wait, and a listener that opens meanwhile finds it in one way or the other
 * (docs/adr/0033). The events of a sender are matched in their order, by one process at a time.
 */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { startRun } from '../runs/dispatch.ts';
import { startByEvent } from '../schedules/on-event.ts';
import { findListeners, type Found } from './find-listeners.ts';
import { offerToRuns, readableBy, type Batch, type InboundRow, type MatchDeps } from './offer.ts';
import { createYielder } from './yield-to-others.ts';
import { CONCURRENT_BATCHES, SenderTurns, type Outcome, type Turn } from './sender-turns.ts';

const BATCH_BYTES = 8 * 1024 * 1024;
/** An idle transaction is ended after a minute (db/orm.ts); that of a batch only holds its lock. */
const KEEP_LOCK_MS = 10_000;

/** Matches events until there are none, beside those that another process works on. */
export async function matchEvents(deps: MatchDeps): Promise<void> {
  await keepMatching(deps, new SenderTurns(), { isStopped: () => false, idle: async () => false });
}

interface Waiting {
  isStopped: () => boolean;
  /** Is asked when there was nothing to do, with `turns.wakes` from before. @returns whether to go on */
  idle: (wakes: number) => Promise<boolean>;
}

export async function keepMatching(
  deps: MatchDeps,
  turns: SenderTurns,
  { isStopped, idle }: Waiting,
): Promise<void> {
  await Promise.all(
    Array.from({ length: CONCURRENT_BATCHES }, async () => {
      let wakes: number;
      do {
        do wakes = turns.wakes;
        while (!isStopped() && (await matchNext(deps, turns)));
      } while (await idle(wakes));
    }),
  );
}

/** Matches a batch of the next sender. @returns whether there was one */
async function matchNext(deps: MatchDeps, turns: SenderTurns): Promise<boolean> {
  try {
    const turn = await turns.take(deps.orm.em.fork());
    if (turn === null) return false;
    const begun = performance.now();
    const outcome = await matchBatch(deps, turn);
    turns.done(turn, { outcome, ms: performance.now() - begun });
    return true;
  } catch (error) {
    deps.logger.warn({ err: error }, 'cannot match events with their listeners, trying again');
    return false;
  }
}

async function matchBatch(deps: MatchDeps, turn: Turn): Promise<Outcome> {
  try {
    // The lock ends with its connection, so a killed process holds nobody up.
    return await deps.orm.em.fork().transactional(async (em) => {
      const [lock] = await em.execute<{ ours: boolean }[]>(
        `select pg_try_advisory_xact_lock(hashtextextended('inbound events of ' || ?, 0)) as ours`,
        [turn.sender],
      );
      return lock?.ours === true ? keepingLock(em, (pause) => matchSender(deps, turn, pause)) : 'elsewhere';
    });
  } catch (error) {
    // The others do not wait for it.
    deps.logger.warn(
      { err: error, owner_id: turn.sender },
      'cannot match events with listeners, trying again',
    );
    return 'failed';
  }
}

/** Keeps the transaction of the lock alive meanwhile. `work` ends at a pause if the lock was lost. */
async function keepingLock<T>(
  em: EntityManager,
  work: (pause: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const yieldToOthers = createYielder();
  let lost: { error: unknown } | null = null;
  const keep = (): void => void em.execute('select 1').catch((error: unknown) => (lost = { error }));
  const timer = setInterval(keep, KEEP_LOCK_MS);
  try {
    return await work(async () => {
      await yieldToOthers();
      if (lost !== null) throw new Error('the lock of a sender was lost', { cause: lost.error });
    });
  } finally {
    clearInterval(timer);
  }
}

async function matchSender(
  deps: MatchDeps,
  { sender, size }: Turn,
  pause: () => Promise<void>,
): Promise<number> {
  const events = await nextBatch(deps.orm.em.fork(), sender, size);
  if (events.length === 0) return 0;
  const batch = { sender, events };
  const count = await findListeners({ em: deps.orm.em.fork(), sender, pause }, events, async (found) => {
    await offerToRuns(deps, batch, found, pause);
    await offerToSchedules(deps, batch, found, pause);
  });
  await deps.orm.em
    .fork()
    .execute('update inbound_event set matched_at = clock_timestamp() where id = any(?::uuid[])', [
      arrayLiteral(events.slice(0, count).map(({ id }) => id)),
    ]);
  return count;
}

async function nextBatch(em: EntityManager, sender: string, size: number): Promise<InboundRow[]> {
  return em.execute<InboundRow[]>(
    `select i.id, i.owner_id, i.source, i.event, b.bytes,
            extract(epoch from i.received_at)::float8 as received
       from (select n.id, n.bytes, sum(n.bytes) over (order by n.received_at, n.id) as sum,
                    row_number() over (order by n.received_at, n.id) as place
               from (select id, received_at, octet_length(event::text) as bytes from inbound_event
                      where owner_id = ? and matched_at is null order by received_at, id limit ?) n) b
            join inbound_event i on i.id = b.id
      where b.sum <= ? or b.place = 1 order by i.received_at, i.id`,
    [sender, size, BATCH_BYTES],
  );
}

/** Each start is a transaction of its own, in the order of the events. */
async function offerToSchedules(
  deps: MatchDeps,
  { sender, events }: Batch,
  found: Found,
  pause: () => Promise<void>,
): Promise<void> {
  const em = deps.orm.em.fork();
  const rows = await em.execute<
    { id: string; workflow_id: string; owner_id: string; team_id: string | null }[]
  >(
    `select l.id, l.workflow_id, l.owner_id, w.team_id
       from listener l join workflow w on w.id = l.workflow_id where l.id = any(?::uuid[])`,
    [arrayLiteral(found.keys())],
  );
  if (rows.length === 0) return;
  const readable = await readableBy(em, sender, rows, events);
  for (const [index, event] of events.entries()) {
    const of = rows.filter((row) => found.get(row.id)?.includes(index) && readable(row, event));
    for (const workflowId of new Set(of.map(({ workflow_id }) => workflow_id))) {
      await pause();
      const started = await deps.orm.em
        .fork()
        .transactional((tx) => startByEvent(tx, { workflowId, event, limits: deps.limits }));
      if (started !== null) await startRun(deps, started);
    }
  }
}
