/**
 * A pause of writes, which all copies of api and worker see in the database: mutating requests are refused,
 * workers take no new tasks, reads go on. That of a command is a lease: it ends by itself if its holder dies.
 * That of an operator lasts until an operator ends it (docs/adr/0059-backups.md).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { EntityManager } from '../../db/orm.ts';

export interface WritePause {
  reason: string;
  /** Until the lease ends, unless its holder prolongs it. Null: until an operator ends it. */
  leftMs: number | null;
}

/** How old the answer may be that a process acts on. */
const KNOWN_MS = 1_000;
/** The same for a pause, whose end nobody should wait for. */
const KNOWN_PAUSE_MS = 200;
const LEASE_SECONDS = 30;
const RENEW_MS = 5_000;
/** What began before all processes knew of the pause has this long to end; what takes longer goes on. */
const SETTLE_MS = 15_000;
const LOOK_MS = 100;

/** Somebody else pauses writes. */
export class WritesPaused extends Error {
  override readonly name = 'WritesPaused';
}

/** The pause has ended although its holder needs it: its process or the database stood still for too long. */
export class PauseLost extends Error {
  override readonly name = 'PauseLost';
}

/** @returns null unless writes are paused now */
export async function readWritePause(em: EntityManager): Promise<WritePause | null> {
  const [row] = await em.execute<{ reason: string; left_ms: number | null }[]>(
    `select reason, case when isfinite(until)
              then (extract(epoch from until - clock_timestamp()) * 1000)::float8 end as left_ms
       from write_pause where until > clock_timestamp()`,
  );
  if (row === undefined) return null;
  return { reason: row.reason, leftMs: row.left_ms === null ? null : Math.ceil(row.left_ms) };
}

/**
 * Begins a pause that lasts until an operator ends it, or gives one another reason. @throws WritesPaused
 * while a command pauses writes
 */
export async function pauseWrites(em: EntityManager, reason: string): Promise<void> {
  const taken = await em.execute<object[]>(
    `insert into write_pause (holder, reason, until) values (gen_random_uuid(), ?, 'infinity')
     on conflict (single) do update
       set holder = excluded.holder, reason = excluded.reason, since = clock_timestamp(),
           until = excluded.until
       where write_pause.until <= clock_timestamp() or not isfinite(write_pause.until)
     returning 1 as taken`,
    [reason],
  );
  if (taken.length === 0) throw await writesPaused(em);
}

/** Ends the pause of an operator. @returns its reason; null if there is none. @throws as `pauseWrites` */
export async function resumeWrites(em: EntityManager): Promise<string | null> {
  const [ended] = await em.execute<{ reason: string }[]>(
    'delete from write_pause where not isfinite(until) returning reason',
  );
  if (ended !== undefined) return ended.reason;
  if ((await readWritePause(em)) !== null) throw await writesPaused(em);
  return null;
}

export interface WritePauseWatch {
  /**
   * What the database said at most a second ago. A database that does not answer pauses nothing, and ends no
   * pause of an operator.
   */
  current(): Promise<WritePause | null>;
}

/** One read a second for a whole process, however many ask. */
export function createWritePauseWatch(fork: () => EntityManager): WritePauseWatch {
  let [known, knownAt]: [WritePause | null, number] = [null, Number.NEGATIVE_INFINITY];
  let reading: Promise<void> | null = null;
  const read = async (): Promise<void> => {
    const at = performance.now();
    known = await readWritePause(fork()).catch(() => (known?.leftMs === null ? known : null));
    knownAt = at;
    reading = null;
  };
  return {
    async current() {
      const ageMs = performance.now() - knownAt;
      if (ageMs > (known === null ? KNOWN_MS : KNOWN_PAUSE_MS)) await (reading ??= read());
      return known;
    },
  };
}

export interface HeldPause {
  /** @throws PauseLost once the lease is gone; ask after each step that relies on it */
  check(): void;
}

/**
 * Does `work` while writes are paused: after all processes know, and what they were writing has ended or had
 * its time. @throws WritesPaused if somebody else pauses them, PauseLost, and errors of `work`
 */
export async function whilePaused<T>(
  fork: () => EntityManager,
  reason: string,
  work: (pause: HeldPause) => Promise<T>,
): Promise<T> {
  const holder = randomUUID();
  await take(fork(), holder, reason);
  let lost: Error | null = null;
  let renewedAt = performance.now();
  const renewing = setInterval(() => {
    const at = performance.now();
    renew(fork(), holder).then(
      (held) => {
        if (held) renewedAt = at;
        else lost = new PauseLost('Somebody else has ended the pause of writes.');
      },
      () => {
        // Tried again; `check` sees whether it took too long.
      },
    );
  }, RENEW_MS);
  const check = (): void => {
    if (lost === null && performance.now() - renewedAt > LEASE_SECONDS * 1_000)
      lost = new PauseLost('The pause of writes ended too early: the database did not answer in time.');
    if (lost !== null) throw lost;
  };
  try {
    await settle(fork());
    const result = await work({ check });
    check();
    return result;
  } finally {
    clearInterval(renewing);
    // If this fails, the lease ends.
    await fork()
      .execute(`delete from write_pause where holder = ?`, [holder])
      .catch(() => undefined);
  }
}

async function take(em: EntityManager, holder: string, reason: string): Promise<void> {
  const taken = await em.execute<object[]>(
    `insert into write_pause (holder, reason, until)
     values (?, ?, clock_timestamp() + make_interval(secs => ?))
     on conflict (single) do update
       set holder = excluded.holder, reason = excluded.reason, since = clock_timestamp(),
           until = excluded.until
       where write_pause.until <= clock_timestamp()
     returning 1 as taken`,
    [holder, reason, LEASE_SECONDS],
  );
  if (taken.length === 0) throw await writesPaused(em);
}

async function writesPaused(em: EntityManager): Promise<WritesPaused> {
  const other = await readWritePause(em);
  const already = `Writes are already paused (${other?.reason ?? 'by another command'}).`;
  return new WritesPaused(
    other?.leftMs === null
      ? `${already} cadenza server resume ends that.`
      : `${already} Wait until that has ended. If its process is dead, the pause ends by itself within ` +
          `${LEASE_SECONDS} seconds.`,
  );
}

async function renew(em: EntityManager, holder: string): Promise<boolean> {
  const rows = await em.execute<object[]>(
    `update write_pause set until = clock_timestamp() + make_interval(secs => ?)
      where holder = ? and until > clock_timestamp() returning 1 as held`,
    [LEASE_SECONDS, holder],
  );
  return rows.length > 0;
}

/** Waits until all processes know of a pause, and for the transactions that were writing by then. */
export async function settle(em: EntityManager): Promise<void> {
  await sleep(KNOWN_MS + LOOK_MS);
  const [horizon] = await em.execute<{ xmax: string }[]>(
    `select pg_snapshot_xmax(pg_current_snapshot())::text as xmax`,
  );
  for (const until = performance.now() + SETTLE_MS; performance.now() < until; await sleep(LOOK_MS)) {
    const [open] = await em.execute<{ open: boolean }[]>(
      `select pg_snapshot_xmin(pg_current_snapshot()) < ?::xid8 as open`,
      [horizon?.xmax ?? '0'],
    );
    if (open?.open !== true) return;
  }
}
