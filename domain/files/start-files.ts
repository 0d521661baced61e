/**
 * Files that people upload for a run that they are about to start, whatever their role:
 * docs/events-and-files.md#files-of-people-who-build-nothing. Only runs of that workflow take them, as input.
 * Those that no run has taken are removed after a day, the others with the last run that uses them.
 */
import { MAX_ATTACHED_FILES } from '../../contracts/file-reference.ts';
import type { EntityManager } from '../../db/orm.ts';
import { conflict } from '../errors.ts';

const WAITING_HOURS = 24;
/** Files of one statement, so that it does not hold locks for long. */
const BATCH = 100;

/** When a file of now is removed, unless a run takes it. */
export function expiryOfNow(): Date {
  return new Date(Date.now() + WAITING_HOURS * 3_600_000);
}

/**
 * In the transaction that stores the file. The lock keeps two uploads from passing the limit together.
 * @throws 409 for too many files
 */
export async function checkWaiting(em: EntityManager, ownerId: string, workflowId: string): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `files of ${ownerId} for ${workflowId}`,
  ]);
  const [row] = await em.execute<{ count: number }[]>(
    `select count(*)::int as count from file
      where owner_id = ? and workflow_id = ? and expires_at is not null`,
    [ownerId, workflowId],
  );
  if ((row?.count ?? 0) >= MAX_ATTACHED_FILES)
    throw conflict(
      'limit_reached',
      `At most ${MAX_ATTACHED_FILES} files of a person wait for a run of the workflow. ` +
        'Start it with some of them, or delete some; after a day they are removed.',
    );
}

/** The run has taken its files, so they stay as long as it. Call after they were linked. */
export async function keepTaken(em: EntityManager, runId: string): Promise<void> {
  await em.execute(
    `with taken as materialized (
       select f.id from run_file u join file f on f.id = u.file_id
        where u.run_id = ? and f.expires_at is not null order by f.id for no key update of f)
     update file set expires_at = null where id = any(array(select id from taken))`,
    [runId],
  );
}

/** Removes one batch of files that no run has taken. @returns those whose contents the caller removes */
export async function removeExpiredFiles(em: EntityManager): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `with expired as materialized (
       select id from file where expires_at < clock_timestamp()
        order by expires_at limit ? for update skip locked)
     delete from file where id = any(array(select id from expired)) returning id`,
    [BATCH],
  );
  return rows.map(({ id }) => id);
}
