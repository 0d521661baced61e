/** Files: a row with the metadata, and the content in the file store. */
import { v7 as uuidv7 } from 'uuid';

import { StoredFile } from '../../db/entities/stored-file.ts';
import type { Visibility } from '../../db/entities/workflow.ts';
import { LockMode, raw, type EntityManager, type FilterQuery } from '../../db/orm.ts';
import { arrayLiteral, containsPattern, type KeysetPage } from '../../db/sql.ts';
import { isAdmin, userIdOf, type Actor } from '../auth/actor.ts';
import { holdersOf } from '../auth/ownership.ts';
import { AppError, forbidden, notFound } from '../errors.ts';
import { checkQuota } from '../quotas/check.ts';
import type { QuotaEnv } from '../quotas/settings.ts';
import { mayOverseeRun, maySeeRun, readInside } from '../runs/policy.ts';
import { isFromInside, isHidden, SHOWN_FILES } from './inside.ts';
import { filesOfRun, isOfRunSeenBy } from './run-files.ts';
import { mayChangeFile, maySeeFile } from './policy.ts';
import { FileTooLarge, type FileStore, type ReceivedFile } from './ports.ts';
import { expiryOfNow } from './start-files.ts';

export const MAX_FILE_BYTES = 100 * 1024 * 1024;
/** An upload that has not grown for this long is dead; a content this old without a row will not get one. */
const ORPHAN_MS = 3_600_000;

export interface NewFile {
  owner_id: string;
  team_id?: string | null | undefined;
  name: string;
  media_type: string;
  visibility?: Visibility | undefined;
  /**
   * The run for which the platform stores the file; it is removed together with the last run that uses it.
   */
  run_id?: string | undefined;
  /** The workflow for whose next run a person uploads it. */
  workflow_id?: string | undefined;
  /** Whether a person has uploaded it for a run. */
  attached?: boolean;
}

export interface Upload extends ReceivedFile {
  id: string;
}

/**
 * Streams bytes into the store; `addFile` then turns them into a file, or `discard` removes them. @throws 413
 * above `maxBytes`, 503 if the disk is full
 */
export async function receiveFile(
  store: FileStore,
  source: AsyncIterable<Uint8Array>,
  { maxBytes = MAX_FILE_BYTES, id = uuidv7() } = {},
): Promise<Upload> {
  try {
    return { id, ...(await store.receive(id, source, { maxBytes })) };
  } catch (error) {
    if (error instanceof FileTooLarge) throw tooLarge(maxBytes);
    if (
      typeof error === 'object' &&
      error !== null &&
      'code' in error &&
      (error.code === 'ENOSPC' || error.code === 'EDQUOT')
    ) {
      throw new AppError('unavailable', 'storage_full', 'There is no room for the file at the moment.');
    }
    throw error;
  }
}

export function tooLarge(maxBytes = MAX_FILE_BYTES): AppError {
  return new AppError(
    'too_large',
    'file_too_large',
    `The file is larger than ${maxBytes / 1024 / 1024} MiB.`,
  );
}

/**
 * Runs in the caller's transaction; the bytes are durable before it commits. @throws 409 at the quota of the
 * owner's or team's stored bytes
 */
export async function addFile(
  em: EntityManager,
  upload: Upload,
  file: NewFile,
  limits: QuotaEnv,
): Promise<StoredFile> {
  await upload.keep();
  const row = em.create(StoredFile, {
    id: upload.id,
    owner_id: file.owner_id,
    team_id: file.team_id ?? null,
    holder_id: file.team_id ?? file.owner_id,
    name: safeName(file.name),
    media_type: safeMediaType(file.media_type),
    size: upload.size,
    sha256: upload.sha256,
    visibility: file.visibility ?? 'private',
    of_runs: file.run_id !== undefined || file.workflow_id !== undefined,
    attached: file.attached ?? false,
    workflow_id: file.workflow_id ?? null,
    expires_at: file.workflow_id === undefined ? null : expiryOfNow(),
    created_at: new Date(),
  });
  await em.persist(row).flush();
  if (file.run_id !== undefined)
    await em.execute(`insert into run_file (run_id, file_id) values (?, ?)`, [file.run_id, row.id]);
  await checkQuota(em, limits, 'stored_bytes', file.team_id ?? file.owner_id);
  return row;
}

/** Both steps at once, for files that the platform itself stores: outputs of agents, parts of messages. */
export async function storeFile(
  em: EntityManager,
  store: FileStore,
  source: AsyncIterable<Uint8Array>,
  file: NewFile,
  limits: QuotaEnv,
): Promise<StoredFile> {
  const upload = await receiveFile(store, source);
  try {
    return await em.transactional((tx) => addFile(tx, upload, file, limits));
  } catch (error) {
    await upload.discard();
    throw error;
  }
}

/**
 * The caller's own files, public ones, and those that the caller's runs use, such as attachments of a
 * decision, as far as the caller sees these runs. @throws 404 for any other file
 */
export async function getFile(em: EntityManager, actor: Actor, id: string): Promise<StoredFile> {
  const file = await readFile(em, id);
  const isOpen = maySeeFile(actor, file) && !(await isHiddenFrom(em, actor, file));
  if (!isOpen && !(await isOfRunSeenBy(em, actor, id))) throw notFound('file');
  return file;
}

async function isHiddenFrom(em: EntityManager, actor: Actor, file: StoredFile): Promise<boolean> {
  if (!file.of_runs || file.owner_id !== actor.id || file.visibility === 'public' || isAdmin(actor))
    return false;
  const rows = await em.execute(`select from file f where f.id = ? and ${isHidden('f')}`, [file.id]);
  return rows.length > 0;
}

/** Without a permission check, for holders of a link. @throws 404 */
export async function readFile(em: EntityManager, id: string): Promise<StoredFile> {
  const file = await em.findOne(StoredFile, { id });
  if (!file) throw notFound('file');
  return file;
}

/** Locks the file. @throws 404, or 403 for another user's public file */
export async function getFileForChange(em: EntityManager, actor: Actor, id: string): Promise<StoredFile> {
  const file = await em.findOne(StoredFile, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!file || !maySeeFile(actor, file) || (await isHiddenFrom(em, actor, file))) throw notFound('file');
  if (!mayChangeFile(actor, file))
    throw forbidden('Only its owner, builders of its team and admins may change this file.');
  return file;
}

export async function updateFile(
  em: EntityManager,
  file: StoredFile,
  changes: { name?: string | undefined; visibility?: Visibility | undefined },
): Promise<void> {
  if (changes.name !== undefined) file.name = safeName(changes.name);
  if (changes.visibility !== undefined) file.visibility = changes.visibility;
  await em.flush();
}

/** Deletes only the row; the content is removed after the commit, or by the sweep. */
export async function deleteFile(em: EntityManager, file: StoredFile): Promise<void> {
  await em.remove(file).flush();
}

export interface FileFilter {
  q?: string | undefined;
  owner_id?: string | undefined;
  team_id?: string | undefined;
  visibility?: Visibility | undefined;
  sha256?: string | undefined;
  /** Files that this run uses. */
  run_id?: string | undefined;
}

/** Not what is from inside: `run_id` gives what the owner of the run sees of it. */
function notInside(): FilterQuery<StoredFile> {
  return { [raw((alias) => `not ${isFromInside(alias)}`)]: [] };
}

/** The files that the actor may see, newest first. */
export async function listFiles(
  em: EntityManager,
  actor: Actor,
  filter: FileFilter,
  page: KeysetPage,
): Promise<StoredFile[]> {
  const { q, run_id: runId, owner_id: owner, ...equal } = filter;
  const conditions: FilterQuery<StoredFile>[] = [];
  if (!isAdmin(actor))
    conditions.push(
      filter.visibility === 'private'
        ? { holder_id: { $in: holdersOf(actor) } }
        : { $or: [{ holder_id: { $in: holdersOf(actor) } }, { visibility: 'public' }] },
    );
  if (runId !== undefined) conditions.push({ id: await filesSeenOf(em, actor, runId) });
  else if (!isAdmin(actor)) conditions.push(notInside());
  if (page.after !== undefined) conditions.push({ id: { $lt: page.after } });
  if (owner !== undefined) conditions.push({ owner_id: userIdOf(actor, owner) });
  for (const [name, value] of Object.entries(equal))
    if (value !== undefined) conditions.push({ [name]: value });
  if (q !== undefined && q !== '') conditions.push({ name: { $ilike: containsPattern(q) } });
  return em.find(StoredFile, { $and: conditions }, { orderBy: { id: 'desc' }, limit: page.limit });
}

/** The files of a run: for its owner those that it shows them. Nobody else learns which it uses. */
async function filesSeenOf(em: EntityManager, actor: Actor, runId: string): Promise<string[]> {
  const run = await readInside(em, runId);
  if (run === undefined || !maySeeRun(actor, run)) return [];
  if (mayOverseeRun(actor, run)) return filesOfRun(em, runId);
  const rows = await em.execute<{ id: string }[]>(SHOWN_FILES, [runId]);
  return rows.map(({ id }) => id);
}

export interface SweepOptions {
  before?: Date;
  /** Stops the sweep between two batches. */
  signal?: AbortSignal;
}

/** Removes unused contents from the store: uploads whose process died, and contents of deleted files. */
export async function sweepFiles(
  em: EntityManager,
  store: FileStore,
  { before = new Date(Date.now() - ORPHAN_MS), signal }: SweepOptions = {},
): Promise<number> {
  const known = async (ids: string[]): Promise<Set<string>> => {
    signal?.throwIfAborted();
    const list = arrayLiteral(ids);
    const rows = await em.execute<{ id: string }[]>(
      `select id from file where id = any(?::uuid[])
       union all select file_id from temporal_payload where file_id = any(?::uuid[])`,
      [list, list],
    );
    return new Set(rows.map(({ id }) => id));
  };
  return store.sweep({ before, known });
}

/** Strips folders and control characters; at most 255 characters. */
function safeName(name: string): string {
  const last = name.toWellFormed().split(/[/\\]/).at(-1) ?? '';
  // Control and formatting characters could fake another name in a list or dialog.
  const clean = last.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim();
  const short = [...clean].slice(0, 255).join('');
  return short === '' || short === '.' || short === '..' ? 'file' : short;
}

const TOKEN = String.raw`[\w!#$&^.+-]+`;
const PARAMETER_VALUE = String.raw`([\w!#$&^.+:-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*")`;
const MEDIA_TYPE = new RegExp(String.raw`^${TOKEN}\/${TOKEN}(\s*;\s*${TOKEN}=${PARAMETER_VALUE})*$`);

/** `type/subtype` with its parameters, or `application/octet-stream` if the value is malformed. */
function safeMediaType(type: string): string {
  const trimmed = type.trim();
  return trimmed.length <= 255 && MEDIA_TYPE.test(trimmed) ? trimmed : 'application/octet-stream';
}
