/** Which runs use which files. A file stored for runs is removed together with the last of them. */
import { escapeToken } from '../../contracts/json-pointer.ts';
import { isOwnUuid, isUuid } from '../../contracts/uuid.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import { usableBy } from '../auth/ownership.ts';
import { invalid, MAX_LISTED_ERRORS, type FieldError } from '../errors.ts';
import { runsSeenBy } from '../runs/policy.ts';
import { isHidden, showsFile } from './inside.ts';
import { keepTaken } from './start-files.ts';

const MAX_LINKED = 1_000;

/** A part of a value. */
interface Place {
  value: unknown;
  key: string;
  /** Null for the whole value. */
  parent: Place | null;
}

/** The ids in all file references of a value: strings under `file_id`. */
export function fileIdsIn(root: unknown): string[] {
  const ids = new Set<string>();
  for (const { id } of fileReferencesIn(root)) ids.add(id);
  return [...ids].slice(0, MAX_LINKED);
}

function* fileReferencesIn(root: unknown): Generator<{ id: string; place: Place }> {
  // Iterative, because agents' output may be nested deeper than the call stack allows.
  const pending: Place[] = [{ value: root, key: '', parent: null }];
  for (let parent = pending.pop(); parent !== undefined; parent = pending.pop()) {
    if (typeof parent.value !== 'object' || parent.value === null) continue;
    for (const [key, value] of Object.entries(parent.value)) {
      if (typeof value === 'object' && value !== null) pending.push({ value, key, parent });
      else if (key === 'file_id' && typeof value === 'string' && isUuid(value))
        yield { id: value.toLowerCase(), place: { value, key, parent } };
    }
  }
}

function pointerOf({ key, parent }: Place): string {
  const keys = [key];
  for (let place = parent; place !== null && place.parent !== null; place = place.parent)
    keys.push(place.key);
  return keys.toReversed().reduce((pointer, one) => `${pointer}/${escapeToken(one)}`, '');
}

/**
 * Refuses a start whose input names files that the run does not get: removed meanwhile, for another workflow,
 * or of somebody else. Ids that this platform cannot have made may be another system's, and pass.
 * @param at JSON pointer of the input in the request
 * @throws 422 `file_unavailable`
 */
export function refuseUnlinked(input: unknown, unlinked: readonly string[], at: string): void {
  const missing = new Set(unlinked.filter(isOwnUuid));
  if (missing.size === 0) return;
  const errors: FieldError[] = [];
  for (const { id, place } of fileReferencesIn(input)) {
    if (errors.length === MAX_LISTED_ERRORS) break;
    const message = `There is no file ${id} that the run may read. If it was removed, upload it again.`;
    if (missing.has(id)) errors.push({ pointer: at + pointerOf(place), code: 'file_unavailable', message });
  }
  throw invalid(errors, undefined, 'file_unavailable');
}

/**
 * SQL: a file that the definition of the run `?` names, and whose holder is that of the workflow: its authors
 * hand it out, whoever starts the run. An id that comes from elsewhere, such as the input, does not count.
 */
const namedByAuthors = (file: string): string => `exists (
  select from run r join workflow w on w.id = r.workflow_id
   where r.id = ?::uuid and w.holder_id = ${file}.holder_id
     and position(${file}.id::text in lower(r.definition::text)) > 0)`;

/**
 * Records which of the files a run uses. Unknown files, and those that neither the run's owner may read nor
 * its definition names, are skipped. So are files for the start of a workflow, except in the input of its
 * runs, whose workflow `inputOf` is. @returns those that the run did not use before
 */
export async function linkFiles(
  em: EntityManager,
  run: { id: string; owner_id: string; inputOf?: string | null },
  fileIds: readonly string[],
): Promise<string[]> {
  if (fileIds.length === 0) return [];
  const rows = await em.execute<{ file_id: string }[]>(
    `insert into run_file (run_id, file_id)
     select ?, id from file
       where id = any(?::uuid[]) and (file.workflow_id is null or file.workflow_id = ?::uuid)
             and (${usableBy('file')} and not ${isHidden('file')} or ${namedByAuthors('file')})
       order by id for key share
     on conflict do nothing returning file_id`,
    [run.id, arrayLiteral(fileIds), run.inputOf ?? null, run.owner_id, run.id],
  );
  if (run.inputOf) await keepTaken(em, run.id);
  return rows.map(({ file_id }) => file_id);
}

/**
 * Shares files of a run's input or output with another run of its tree: what one may read, the other may then
 * read too.
 */
export async function shareFiles(
  em: EntityManager,
  from: string,
  to: string,
  fileIds: readonly string[],
): Promise<void> {
  if (fileIds.length === 0) return;
  await em.execute(
    `insert into run_file (run_id, file_id)
     select ?, file_id from run_file where run_id = ? and file_id = any(?::uuid[]) order by file_id
     on conflict do nothing`,
    [to, from, arrayLiteral(fileIds)],
  );
}

/** Copies a run's file uses and pending fetches to the run that retries it. */
export async function inheritFiles(em: EntityManager, from: string, to: string): Promise<void> {
  await em.execute(
    `insert into run_file (run_id, file_id)
     select ?, file_id from run_file where run_id = ? order by file_id on conflict do nothing`,
    [to, from],
  );
  await em.execute(
    `insert into file_fetch (run_id, position, file_id, url, name, media_type, sha256, accepts)
     select ?, position, file_id, url, name, media_type, sha256, accepts from file_fetch where run_id = ?`,
    [to, from],
  );
}

/**
 * The files that a run may read: its owner's, public ones, those its definition names, and those it uses. Of
 * files for a start only the last.
 */
export async function readableFiles(
  em: EntityManager,
  run: { id: string; owner_id: string },
  fileIds: readonly string[],
): Promise<string[]> {
  if (fileIds.length === 0) return [];
  const rows = await em.execute<{ id: string }[]>(
    `select f.id from file f
      where f.id = any(?::uuid[])
        and (f.workflow_id is null
             and (${usableBy('f')} and not ${isHidden('f')} or ${namedByAuthors('f')})
             or exists (select from run_file u where u.run_id = ? and u.file_id = f.id))`,
    [arrayLiteral(fileIds), run.owner_id, run.id, run.id],
  );
  return rows.map(({ id }) => id);
}

/** Ids of the files that a run uses. */
export async function filesOfRun(em: EntityManager, runId: string): Promise<string[]> {
  const rows = await em.execute<{ file_id: string }[]>(`select file_id from run_file where run_id = ?`, [
    runId,
  ]);
  return rows.map(({ file_id }) => file_id);
}

/** Whether a run that the actor sees uses the file, and shows it to them. */
export async function isOfRunSeenBy(em: EntityManager, actor: Actor, fileId: string): Promise<boolean> {
  const seen = runsSeenBy(actor, 'r');
  const rows = await em.execute(
    `select from file f join run_file u on u.file_id = f.id join run r on r.id = u.run_id
      where f.id = ? and ${seen.sql} and (r.owner_id <> ?::uuid or ${showsFile('f')}) limit 1`,
    [fileId, ...seen.values, actor.id],
  );
  return rows.length > 0;
}
