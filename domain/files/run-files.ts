/** Which runs use which files: a file that was made for runs goes with the last of them. */
import type { EntityManager } from '../../db/orm.ts';

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;
const MAX_LINKED = 1_000;

/** The ids in all file references of a value: strings under `file_id`. */
export function fileIdsIn(value: unknown): string[] {
  const ids = new Set<string>();
  // Not by recursion: what agents answer may be nested deeper than the stack is.
  const open = [value];
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one !== 'object' || one === null) continue;
    for (const [key, inner] of Object.entries(one)) {
      if (key !== 'file_id' || typeof inner !== 'string') open.push(inner);
      else if (UUID.test(inner.toLowerCase())) ids.add(inner.toLowerCase());
    }
  }
  return [...ids].slice(0, MAX_LINKED);
}

/** Notes that a run uses those of the files that its owner may read; others and unknown ones are passed over. */
export async function linkFiles(em: EntityManager, run: { id: string; owner_id: string }, fileIds: readonly string[]): Promise<void> {
  if (fileIds.length === 0) return;
  await em.execute(
    `insert into run_file (run_id, file_id)
     select ?, id from file where id = any(?::uuid[]) and (owner_id = ? or visibility = 'public') order by id for key share
     on conflict do nothing`,
    [run.id, `{${fileIds.join(',')}}`, run.owner_id],
  );
}

/** Files that one run hands to another of its tree, in an input or an output: what the one may read, the other may. */
export async function shareFiles(em: EntityManager, from: string, to: string, fileIds: readonly string[]): Promise<void> {
  if (fileIds.length === 0) return;
  await em.execute(
    `insert into run_file (run_id, file_id) select ?, file_id from run_file where run_id = ? and file_id = any(?::uuid[]) order by file_id on conflict do nothing`,
    [to, from, `{${fileIds.join(',')}}`],
  );
}

/** What a run used, and what it has still to fetch, for the run that retries it. */
export async function inheritFiles(em: EntityManager, from: string, to: string): Promise<void> {
  await em.execute(`insert into run_file (run_id, file_id) select ?, file_id from run_file where run_id = ? order by file_id on conflict do nothing`, [to, from]);
  await em.execute(
    `insert into file_fetch (run_id, position, file_id, url, name, media_type, sha256, accepts)
     select ?, position, file_id, url, name, media_type, sha256, accepts from file_fetch where run_id = ?`,
    [to, from],
  );
}

/** Those that a run may read: its owner's, public ones, and what is linked to it. */
export async function readableFiles(em: EntityManager, run: { id: string; owner_id: string }, fileIds: readonly string[]): Promise<string[]> {
  if (fileIds.length === 0) return [];
  const rows = await em.execute<{ id: string }[]>(
    `select f.id from file f
      where f.id = any(?::uuid[])
        and (f.owner_id = ? or f.visibility = 'public' or exists (select from run_file u where u.run_id = ? and u.file_id = f.id))`,
    [`{${fileIds.join(',')}}`, run.owner_id, run.id],
  );
  return rows.map(({ id }) => id);
}

/** Ids of the files that a run uses. */
export async function filesOfRun(em: EntityManager, runId: string): Promise<string[]> {
  const rows = await em.execute<{ file_id: string }[]>(`select file_id from run_file where run_id = ?`, [runId]);
  return rows.map(({ file_id }) => file_id);
}

/** Whether some run of the user's uses the file. */
export async function usedByRunOf(em: EntityManager, userId: string, fileId: string): Promise<boolean> {
  const rows = await em.execute(`select from run_file u join run r on r.id = u.run_id where u.file_id = ? and r.owner_id = ? limit 1`, [fileId, userId]);
  return rows.length > 0;
}
