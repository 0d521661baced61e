/** Linked files that a run fetches before its first task (a2a.md §3): what is asked for, and what it becomes. */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { accepts as inModes } from '../a2a/modes.ts';
import { fault } from '../../contracts/fault.ts';
import type { FileReference } from '../ports.ts';
import { addFile, type Upload } from './service.ts';

export interface NewFetch {
  /** In the input's `files`. */
  position: number;
  url: string;
  name?: string | undefined;
  media_type?: string | undefined;
  /** Lower-case hex, where the sender says it. */
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

/** In the transaction that makes the run. */
export async function addFetches(em: EntityManager, runId: string, fetches: readonly NewFetch[], accepts: readonly string[]): Promise<void> {
  for (const { position, url, name, media_type, sha256 } of fetches) {
    await em.execute(
      `insert into file_fetch (run_id, position, file_id, url, name, media_type, sha256, accepts) values (?, ?, ?, ?, ?, ?, ?, ?::text[])`,
      [runId, position, uuidv7(), url, name ?? null, media_type ?? null, sha256 ?? null, `{${accepts.map((type) => JSON.stringify(type)).join(',')}}`],
    );
  }
}

export function listFetches(em: EntityManager, runId: string): Promise<Fetch[]> {
  return em.execute<Fetch[]>(`select position, file_id, url, name, media_type, sha256, accepts from file_fetch where run_id = ? order by position`, [runId]);
}

/** The file of a fetch, null while it is not in the store. */
export async function fetchedFile(em: EntityManager, { file_id }: Fetch): Promise<FileReference | null> {
  const [row] = await em.execute<FileReference[]>(`select id as file_id, name, media_type, size, sha256 from file where id = ?`, [file_id]);
  return row ?? null;
}

/** Keeps what was received, unless another attempt was faster: then that one's file counts. In a transaction of its own. */
export async function keepFetched(em: EntityManager, runId: string, fetch: Fetch, upload: Upload, file: { name: string; media_type: string }): Promise<void> {
  await em.transactional(async (tx) => {
    const [row] = await tx.execute<{ owner_id: string }[]>(
      `select r.owner_id from file_fetch f join run r on r.id = f.run_id where f.run_id = ? and f.position = ? for update of f`,
      [runId, fetch.position],
    );
    if (!row || (await fetchedFile(tx, fetch)) !== null) return;
    await addFile(tx, upload, { owner_id: row.owner_id, run_id: runId, ...file });
  });
  await upload.discard();
}

/** The run's input names the files themselves from now on: for who reads it, and for a retry. */
export async function putFetched(em: EntityManager, runId: string, files: readonly { position: number; file: FileReference }[]): Promise<void> {
  await em.transactional(async (tx) => {
    const [run] = await tx.execute<{ input: unknown }[]>(`select input from run where id = ? for update`, [runId]);
    const input = run?.input;
    if (typeof input !== 'object' || input === null || !('files' in input) || !Array.isArray(input.files)) return;
    const at = new Map(files.map(({ position, file }) => [position, file]));
    const replaced = { ...input, files: input.files.map((file: unknown, index) => at.get(index) ?? file) };
    await tx.execute(`update run set input = ?::json where id = ?`, [JSON.stringify(replaced), runId]);
  });
}

const GENERIC = new Set(['', 'application/octet-stream', 'binary/octet-stream', 'application/x-download', 'application/force-download']);

/**
 * The media type that counts: what the sender declared, else what the server says. The server's word counts against it where it is
 * of another kind: a log-in page is no image. @throws Fault for that, and for what the agent does not take.
 */
export function fetchedType({ media_type: declared, accepts }: Pick<Fetch, 'media_type' | 'accepts'>, served: string | null, host: string): string {
  const [saysSender, saysServer] = [essence(declared), essence(served)];
  if (!GENERIC.has(saysSender) && !GENERIC.has(saysServer) && !alike(saysSender, saysServer)) {
    throw fault('validation', `The file at ${host} is ${saysServer}, not ${saysSender} as the message says`);
  }
  const type = GENERIC.has(saysSender) ? (GENERIC.has(saysServer) ? 'application/octet-stream' : (served ?? '')) : (declared ?? '');
  if (!inModes(accepts, type)) throw fault('validation', `The file at ${host} is ${essence(type)}; this agent takes ${accepts.join(', ')}`);
  return type;
}

function essence(type: string | null): string {
  return (type?.split(';')[0] ?? '').trim().toLowerCase();
}

/** Of one kind (`audio/mp3`, `audio/mpeg`) or format (`text/xml`, `application/xml`); a text may be served as plain. A page is none but a page. */
function alike(one: string, other: string): boolean {
  if (one === other) return true;
  const [[type, format], [otherType, otherFormat]] = [one.split('/'), other.split('/')];
  if (one === 'text/html' || other === 'text/html') return false;
  return type === otherType || format === otherFormat || (other === 'text/plain' && type === 'application');
}
