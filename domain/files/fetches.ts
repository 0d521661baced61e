/** Linked files that a run fetches before its first task: the requests, and the files that replace them. */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { accepts as inModes } from '../../contracts/a2a/modes.ts';
import { fault } from '../../contracts/fault.ts';
import type { FileReference } from '../ports.ts';
import type { QuotaEnv } from '../quotas/settings.ts';
import { addFile, type Upload } from './service.ts';

export interface NewFetch {
  /** Index in the input's `files`. */
  position: number;
  url: string;
  name?: string | undefined;
  media_type?: string | undefined;
  /** Lower-case hex, if the sender gave it. */
  sha256?: string | undefined;
}

export interface Fetch {
  position: number;
  file_id: string;
  url: string;
  name: string | null;
  media_type: string | null;
  sha256: string | null;
  /** Media types that the agent takes; may have wildcards. */
  accepts: string[];
}

/** Call in the transaction that creates the run. */
export async function addFetches(
  em: EntityManager,
  runId: string,
  fetches: readonly NewFetch[],
  accepts: readonly string[],
): Promise<void> {
  for (const { position, url, name, media_type, sha256 } of fetches) {
    await em.execute(
      `insert into file_fetch (run_id, position, file_id, url, name, media_type, sha256, accepts)
       values (?, ?, ?, ?, ?, ?, ?, ?::text[])`,
      [
        runId,
        position,
        uuidv7(),
        url,
        name ?? null,
        media_type ?? null,
        sha256 ?? null,
        arrayLiteral(accepts),
      ],
    );
  }
}

export function listFetches(em: EntityManager, runId: string): Promise<Fetch[]> {
  return em.execute<Fetch[]>(
    `select position, file_id, url, name, media_type, sha256, accepts from file_fetch
       where run_id = ? order by position`,
    [runId],
  );
}

/** The file of a fetch; null until it is stored. */
export async function fetchedFile(em: EntityManager, { file_id }: Fetch): Promise<FileReference | null> {
  const [row] = await em.execute<FileReference[]>(
    `select id as file_id, name, media_type, size, sha256 from file where id = ?`,
    [file_id],
  );
  return row ?? null;
}

/** Stores a fetched file in a transaction of its own, unless another attempt has already stored it. */
export async function keepFetched(
  em: EntityManager,
  runId: string,
  fetch: Fetch,
  upload: Upload,
  file: { name: string; media_type: string },
  limits: QuotaEnv,
): Promise<void> {
  await em.transactional(async (tx) => {
    const [row] = await tx.execute<{ owner_id: string }[]>(
      `select r.owner_id from file_fetch f join run r on r.id = f.run_id
        where f.run_id = ? and f.position = ? for update of f`,
      [runId, fetch.position],
    );
    if (!row || (await fetchedFile(tx, fetch)) !== null) return;
    await addFile(tx, upload, { owner_id: row.owner_id, run_id: runId, ...file }, limits);
  });
  await upload.discard();
}

/** Replaces the links in the run's input by the stored files, for readers of the run and for retries. */
export async function putFetched(
  em: EntityManager,
  runId: string,
  files: readonly { position: number; file: FileReference }[],
): Promise<void> {
  await em.transactional(async (tx) => {
    const [run] = await tx.execute<{ input: unknown }[]>(
      `select input from run where id = ? for no key update`,
      [runId],
    );
    const input = run?.input;
    if (typeof input !== 'object' || input === null || !('files' in input) || !Array.isArray(input.files))
      return;
    const fileAt = new Map(files.map(({ position, file }) => [position, file]));
    const replaced = {
      ...input,
      files: input.files.map((file: unknown, index) => fileAt.get(index) ?? file),
    };
    await tx.execute(`update run set input = ?::json where id = ?`, [JSON.stringify(replaced), runId]);
  });
}

const GENERIC = new Set([
  '',
  'application/octet-stream',
  'binary/octet-stream',
  'application/x-download',
  'application/force-download',
]);

/**
 * The media type of a fetched file: what the sender declared, else what the server declares. @throws Fault if
 * the server declares a different kind, such as a log-in page instead of an image, or if the agent does not
 * take the type
 */
export function fetchedType(
  { media_type: declared, accepts }: Pick<Fetch, 'media_type' | 'accepts'>,
  served: string | null,
  host: string,
): string {
  const [declaredType, servedType] = [essence(declared), essence(served)];
  if (!GENERIC.has(declaredType) && !GENERIC.has(servedType) && !alike(declaredType, servedType)) {
    throw fault(
      'validation',
      `The file at ${host} is ${servedType}, not ${declaredType} as the message says`,
    );
  }
  const type = GENERIC.has(declaredType)
    ? GENERIC.has(servedType)
      ? 'application/octet-stream'
      : (served ?? '')
    : (declared ?? '');
  if (!inModes(accepts, type))
    throw fault(
      'validation',
      `The file at ${host} is ${essence(type)}; this agent takes ${accepts.join(', ')}`,
    );
  return type;
}

function essence(type: string | null): string {
  return (type?.split(';')[0] ?? '').trim().toLowerCase();
}

/**
 * Whether the types are of the same kind (`audio/mp3`, `audio/mpeg`) or format (`text/xml`,
 * `application/xml`). A text format may be served as plain text. HTML matches only HTML.
 */
function alike(declared: string, served: string): boolean {
  if (declared === served) return true;
  const [[type, format], [servedType, servedFormat]] = [declared.split('/'), served.split('/')];
  if (declared === 'text/html' || served === 'text/html') return false;
  return (
    type === servedType || format === servedFormat || (served === 'text/plain' && type === 'application')
  );
}
