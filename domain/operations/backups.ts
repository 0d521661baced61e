/**
 * What the database knows of backups: the last attempts, and the one under way, of which there is one at most
 * in all copies. It is a lease, so a process that dies is forgotten (docs/adr/0059-backups.md).
 */
import { randomUUID } from 'node:crypto';

import { counted } from '../../contracts/counted.ts';
import { cutTo } from '../../contracts/cut-text.ts';
import { withoutEnd } from '../../contracts/text-end.ts';
import type { EntityManager } from '../../db/orm.ts';
import { patiently } from '../../db/patiently.ts';

/** Attempts that are kept; of complete ones, as many again. */
const MAX_KEPT = 100;
const MAX_ERROR_LENGTH = 1_000;
const DEAD = 'Its process has ended without a word.';
const LEASE_SECONDS = 30;
const RENEW_MS = 5_000;
/** A timetable tries again so long after a failure, or when the next one is due. */
const RETRY_SECONDS = 900;
/** Where no timetable says how old a backup may be. */
const OLD_SECONDS = 2 * 86_400;
const HOUR_SECONDS = 3_600;

/** Another process takes a backup. */
export class BackupRuns extends Error {
  override readonly name = 'BackupRuns';
}

export interface Timetable {
  everySeconds: number;
  /** Seconds after midnight (UTC) from which the times are counted; null: from the last backup. */
  atSeconds: number | null;
}

interface CompleteBackup {
  place: string;
  startedAt: Date;
  seconds: number;
  /** Of the whole folder. */
  bytes: number;
  ageSeconds: number;
}

interface FailedBackup {
  place: string;
  endedAt: Date;
  ageSeconds: number;
  error: string;
}

export interface Backups {
  /** The newest that is complete; null if there is none. */
  complete: CompleteBackup | null;
  /** The newest attempt that failed; null if none did. */
  failed: FailedBackup | null;
  /** Attempts that failed since the last complete one. */
  failures: number;
  /** Since when a backup is being taken; null if none is. */
  runningSince: Date | null;
}

/** @returns null if the settings have none */
export function timetableOf({
  BACKUP_EVERY: everySeconds,
  BACKUP_AT: atSeconds = null,
}: {
  BACKUP_EVERY?: number | undefined;
  BACKUP_AT?: number | null | undefined;
}): Timetable | null {
  return everySeconds === undefined ? null : { everySeconds, atSeconds };
}

interface Attempt {
  place: string;
  /** Only if it is due by this timetable. */
  timetable?: Timetable | undefined;
}

/** Seconds until the next backup of a timetable is due, as the database sees it now; 0: it is. */
export async function secondsUntilDue(em: EntityManager, timetable: Timetable): Promise<number> {
  const [row] = await em.execute<{ seconds: number }[]>(
    `select greatest(0, extract(epoch from ${DUE_AT} - clock_timestamp()))::float8 as seconds`,
    dueValues(timetable),
  );
  return row?.seconds ?? 0;
}

/**
 * When the next backup is due. With a time of the day: at the first of the times after the last complete one
 * began. Without: a while after it began. Never before a failed one may be repeated.
 */
const DUE_AT = `coalesce(greatest(
  (select case when ?::float8 is null then max(started_at) + make_interval(secs => ?)
          else date_bin(make_interval(secs => ?), max(started_at),
                        timestamptz '2000-01-01 00:00:00+00' + make_interval(secs => ?))
               + make_interval(secs => ?) end
     from backup where status = 'complete'),
  (select max(ended_at) + make_interval(secs => ?) from backup where status = 'failed')),
  clock_timestamp())`;

function dueValues({ everySeconds, atSeconds }: Timetable): (number | null)[] {
  const retrySeconds = Math.min(everySeconds, RETRY_SECONDS);
  return [atSeconds, everySeconds, everySeconds, atSeconds ?? 0, everySeconds, retrySeconds];
}

/**
 * Does the work of a backup as the only one, and keeps how it ended.
 * @returns null if it is not due @throws BackupRuns, and errors of `work`
 */
export async function recordedBackup<T extends { total_bytes: number }>(
  fork: () => EntityManager,
  attempt: Attempt,
  work: () => Promise<T>,
): Promise<T | null> {
  const id = randomUUID();
  if (!(await begin(fork(), id, attempt))) return null;
  const renewing = setInterval(() => {
    // What needs the lease is the pause of writes, which has one of its own and says if it is lost.
    prolong(fork(), id).catch(() => undefined);
  }, RENEW_MS);
  try {
    const result = await work().catch(async (error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      // Without a database the lease ends by itself.
      await end(fork(), id, { status: 'failed', bytes: null, error: message }).catch(() => undefined);
      throw error;
    });
    const complete = { status: 'complete', bytes: result.total_bytes, error: null } as const;
    await patiently(() => end(fork(), id, complete));
    return result;
  } finally {
    clearInterval(renewing);
  }
}

/** @returns false if it is not due @throws BackupRuns */
async function begin(em: EntityManager, id: string, { place, timetable }: Attempt): Promise<boolean> {
  return em.transactional(async (tx) => {
    // One at a time, so that each sees what the one before it has done. Reading goes on.
    await tx.execute('lock table backup in share row exclusive mode');
    await tx.execute(
      `update backup set status = 'failed', ended_at = leased_until, error = ?
        where status = 'running' and leased_until <= clock_timestamp()`,
      [DEAD],
    );
    const [running] = await tx.execute<{ place: string }[]>(
      `select place from backup where status = 'running'`,
    );
    if (running !== undefined)
      throw new BackupRuns(
        `A backup is already being taken (${running.place}). Wait until it has ended. If its process is ` +
          `dead, it is forgotten within ${LEASE_SECONDS} seconds.`,
      );
    if (timetable !== undefined && (await secondsUntilDue(tx, timetable)) > 0) return false;
    await tx.execute(
      `insert into backup (id, status, place, leased_until)
       values (?, 'running', ?, clock_timestamp() + make_interval(secs => ?))`,
      [id, place, LEASE_SECONDS],
    );
    await tx.execute(
      `delete from backup b using (
         select id, row_number() over (partition by status order by started_at desc) as no from backup) old
        where old.id = b.id and old.no > ?`,
      [MAX_KEPT],
    );
    return true;
  });
}

async function prolong(em: EntityManager, id: string): Promise<void> {
  await em.execute(
    `update backup set leased_until = clock_timestamp() + make_interval(secs => ?)
      where id = ? and status = 'running'`,
    [LEASE_SECONDS, id],
  );
}

interface Outcome {
  status: 'complete' | 'failed';
  bytes: number | null;
  error: string | null;
}

async function end(em: EntityManager, id: string, { status, bytes, error }: Outcome): Promise<void> {
  await em.execute(
    `update backup set status = ?, bytes = ?, error = ?, ended_at = clock_timestamp(), leased_until = null
      where id = ?`,
    [status, bytes, error === null ? null : cutTo(error, MAX_ERROR_LENGTH), id],
  );
}

interface AttemptRow {
  status: 'running' | 'complete' | 'failed';
  place: string;
  /** Milliseconds since 1970. */
  started: number;
  ended: number | null;
  bytes: number | null;
  error: string | null;
  now: number;
}

/** One whose process has died counts as failed. */
const ATTEMPTS = `
  select case when is_dead then 'failed' else status end as status, place, started_at,
         coalesce(ended_at, leased_until) as ended_at, bytes, case when is_dead then ? else error end as error
    from (select *, status = 'running' and leased_until <= clock_timestamp() as is_dead from backup) b`;

export async function readBackups(em: EntityManager): Promise<Backups> {
  const rows = await em.execute<AttemptRow[]>(
    `with attempt as (${ATTEMPTS})
     select distinct on (status) status, place, bytes::float8 as bytes, error,
            ${inMs('started_at')} as started, ${inMs('ended_at')} as ended,
            ${inMs('clock_timestamp()')} as now
       from attempt order by status, started_at desc`,
    [DEAD],
  );
  const [count] = await em.execute<{ failures: number }[]>(
    `with attempt as (${ATTEMPTS})
     select count(*)::int as failures from attempt
      where status = 'failed' and started_at >
              coalesce((select max(started_at) from attempt where status = 'complete'), '-infinity')`,
    [DEAD],
  );
  const newest = (status: AttemptRow['status']) => rows.find((row) => row.status === status);
  const [complete, failed, running] = [newest('complete'), newest('failed'), newest('running')];
  return {
    complete: complete === undefined ? null : completeOf(complete),
    failed: failed === undefined ? null : failedOf(failed),
    failures: count?.failures ?? 0,
    runningSince: running === undefined ? null : new Date(running.started),
  };
}

const inMs = (time: string): string => `(extract(epoch from ${time}) * 1000)::float8`;
const secondsBetween = (from: number, to: number): number => Math.max(0, to - from) / 1_000;

function completeOf({ place, started, ended, bytes, now }: AttemptRow): CompleteBackup {
  return {
    place,
    startedAt: new Date(started),
    seconds: secondsBetween(started, ended ?? started),
    bytes: bytes ?? 0,
    ageSeconds: secondsBetween(started, now),
  };
}

function failedOf({ place, started, ended, error, now }: AttemptRow): FailedBackup {
  const endedMs = ended ?? started;
  return {
    place,
    endedAt: new Date(endedMs),
    ageSeconds: secondsBetween(endedMs, now),
    error: error ?? '',
  };
}

/**
 * What an operator should know.
 * @returns null if the last complete backup is young enough, and no attempt has failed since
 */
export function backupWarning(
  { complete, failed, failures }: Backups,
  timetable: Timetable | null,
): string | null {
  const limit = timetable === null ? OLD_SECONDS : 2 * timetable.everySeconds + HOUR_SECONDS;
  const warnings = [
    ...(complete === null ? ['No backup has been taken with cadenza server backup.'] : []),
    ...(complete !== null && complete.ageSeconds > limit
      ? [`The last complete backup is old: it was begun at ${complete.startedAt.toISOString()}.`]
      : []),
    ...(failed !== null && failures > 0
      ? [`${failedText(failures, complete)}: ${withoutEnd(failed.error, '.')}.`]
      : []),
  ];
  if (warnings.length === 0) return null;
  return [...warnings, 'See docs/operations.md#back-up-by-timetable.'].join(' ');
}

const failedText = (failures: number, complete: CompleteBackup | null): string =>
  `${counted(failures, 'attempt')} failed${complete === null ? '' : ' since the last complete one'}`;
