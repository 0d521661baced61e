/** Files: a row that says what it is, and its bytes in the file store. */
import { v7 as uuidv7 } from 'uuid';

import { StoredFile } from '../../db/entities/stored-file.ts';
import type { Visibility } from '../../db/entities/workflow.ts';
import { LockMode, type EntityManager, type FilterQuery } from '../../db/orm.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { AppError, forbidden, notFound } from '../errors.ts';
import { filesOfRun, usedByRunOf } from './run-files.ts';
import { mayChangeFile, maySeeFile } from './policy.ts';
import { FileTooLarge, type FileStore, type ReceivedFile } from './ports.ts';

export const maxFileBytes = 100 * 1024 * 1024;
/** Uploads that did not grow for so long are dead, and contents without a row will not get one. */
const ORPHAN_MS = 3_600_000;

export interface NewFile {
  owner_id: string;
  name: string;
  media_type: string;
  visibility?: Visibility | undefined;
  /** The run that the platform stores it for: the file goes when the last run that uses it goes. */
  run_id?: string | undefined;
}

export interface Upload extends ReceivedFile {
  id: string;
}

/** Streams bytes into the store; they become a file by `addFile`, or are discarded. @throws 413 over `maxBytes`, 503 when the disk is full. */
export async function receiveFile(store: FileStore, source: AsyncIterable<Uint8Array>, { maxBytes = maxFileBytes, id = uuidv7() } = {}): Promise<Upload> {
  try {
    return { id, ...(await store.receive(id, source, { maxBytes })) };
  } catch (error) {
    if (error instanceof FileTooLarge) throw tooLarge(maxBytes);
    if (typeof error === 'object' && error !== null && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) {
      throw new AppError('unavailable', 'storage_full', 'There is no room for the file at the moment.');
    }
    throw error;
  }
}

export function tooLarge(maxBytes = maxFileBytes): AppError {
  return new AppError('too_large', 'file_too_large', `The file is larger than ${maxBytes / 1024 / 1024} MiB.`);
}

/** In the caller's transaction: the bytes are durable before it commits. */
export async function addFile(em: EntityManager, upload: Upload, file: NewFile): Promise<StoredFile> {
  await upload.keep();
  const row = em.create(StoredFile, {
    id: upload.id,
    owner_id: file.owner_id,
    name: safeName(file.name),
    media_type: safeMediaType(file.media_type),
    size: upload.size,
    sha256: upload.sha256,
    visibility: file.visibility ?? 'private',
    of_runs: file.run_id !== undefined,
    created_at: new Date(),
  });
  await em.persist(row).flush();
  if (file.run_id !== undefined) await em.execute(`insert into run_file (run_id, file_id) values (?, ?)`, [file.run_id, row.id]);
  return row;
}

/** Both steps at once, for what the platform itself stores: outputs of agents, parts of messages. */
export async function storeFile(em: EntityManager, store: FileStore, source: AsyncIterable<Uint8Array>, file: NewFile): Promise<StoredFile> {
  const upload = await receiveFile(store, source);
  try {
    return await em.transactional((tx) => addFile(tx, upload, file));
  } catch (error) {
    await upload.discard();
    throw error;
  }
}

/** One's own, public ones, and those that one's runs use, such as what a person attached to a decision. @throws 404 for any other. */
export async function getFile(em: EntityManager, actor: Actor, id: string): Promise<StoredFile> {
  const file = await readFile(em, id);
  if (!maySeeFile(actor, file) && !(await usedByRunOf(em, actor.id, id))) throw notFound('file');
  return file;
}

/** For who needs no rights: the holder of a link. @throws 404 */
export async function readFile(em: EntityManager, id: string): Promise<StoredFile> {
  const file = await em.findOne(StoredFile, { id });
  if (!file) throw notFound('file');
  return file;
}

/** Locks it. @throws 404, or 403 for a public one of somebody else. */
export async function getFileForChange(em: EntityManager, actor: Actor, id: string): Promise<StoredFile> {
  const file = await em.findOne(StoredFile, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!file || !maySeeFile(actor, file)) throw notFound('file');
  if (!mayChangeFile(actor, file)) throw forbidden('Only its owner and admins may change this file.');
  return file;
}

export async function updateFile(em: EntityManager, file: StoredFile, changes: { name?: string | undefined; visibility?: Visibility | undefined }): Promise<void> {
  if (changes.name !== undefined) file.name = safeName(changes.name);
  if (changes.visibility !== undefined) file.visibility = changes.visibility;
  await em.flush();
}

/** The row only: the content goes after the commit, or by the sweep. */
export async function deleteFile(em: EntityManager, file: StoredFile): Promise<void> {
  await em.remove(file).flush();
}

export interface FileFilter {
  q?: string | undefined;
  owner_id?: string | undefined;
  visibility?: Visibility | undefined;
  sha256?: string | undefined;
  /** Those that this run uses. */
  run_id?: string | undefined;
}

/** What the actor may see, newest first, below the id `before`. */
export async function listFiles(em: EntityManager, actor: Actor, filter: FileFilter, paging: { before?: string | undefined; limit: number }): Promise<StoredFile[]> {
  const { q, run_id: runId, ...equal } = filter;
  const conditions: FilterQuery<StoredFile>[] = [];
  if (!isAdmin(actor)) conditions.push(filter.visibility === 'private' ? { owner_id: actor.id } : { $or: [{ owner_id: actor.id }, { visibility: 'public' }] });
  if (runId !== undefined) conditions.push({ id: await filesOfRun(em, runId) });
  if (paging.before !== undefined) conditions.push({ id: { $lt: paging.before } });
  for (const [name, value] of Object.entries(equal)) if (value !== undefined) conditions.push({ [name]: value });
  if (q !== undefined && q !== '') conditions.push({ name: { $ilike: `%${q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%` } });
  return em.find(StoredFile, { $and: conditions }, { orderBy: { id: 'desc' }, limit: paging.limit });
}

export interface SweepOptions {
  before?: Date;
  /** Ends it between two batches. */
  signal?: AbortSignal;
}

/** Removes from the store what belongs to nothing: uploads that died with their process, contents of deleted files. */
export async function sweepFiles(em: EntityManager, store: FileStore, { before = new Date(Date.now() - ORPHAN_MS), signal }: SweepOptions = {}): Promise<number> {
  const known = async (ids: string[]): Promise<Set<string>> => {
    signal?.throwIfAborted();
    const list = `{${ids.join(',')}}`;
    const rows = await em.execute<{ id: string }[]>(
      'select id from file where id = any(?::uuid[]) union all select file_id from temporal_payload where file_id = any(?::uuid[])',
      [list, list],
    );
    return new Set(rows.map(({ id }) => id));
  };
  return store.sweep({ before, known });
}

/** No folders, no control characters, at most 255 characters. */
export function safeName(name: string): string {
  const last = name.toWellFormed().split(/[/\\]/).at(-1) ?? '';
  // Control and formatting characters could fake another name in a list or a dialog.
  const clean = last.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim();
  const short = [...clean].slice(0, 255).join('');
  return short === '' || short === '.' || short === '..' ? 'file' : short;
}

/** `type/subtype` with its parameters, or that of plain bytes. */
export function safeMediaType(type: string): string {
  const trimmed = type.trim();
  return trimmed.length <= 255 && /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;\s*[\w!#$&^.+-]+=([\w!#$&^.+:-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/.test(trimmed)
    ? trimmed
    : 'application/octet-stream';
}
