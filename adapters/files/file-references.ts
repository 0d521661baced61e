/**
 * Finds references to the platform's files in a value for a counterpart, and adds a link or the content to
 * them.
 */
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { isUuid } from '../../contracts/uuid.ts';
import type { CallFiles, FileReference } from '../../domain/ports.ts';

const KEYS = new Set(['file_id', 'url', 'name', 'media_type', 'size', 'sha256']);

export type StoredReference = FileReference & { file_id: string };

/** `{file_id, name?, media_type?, size?, sha256?, url?}` without other members. */
export function isFileReference(value: unknown): value is StoredReference {
  if (!isRecord(value) || typeof value['file_id'] !== 'string' || !isUuid(value['file_id'])) return false;
  return Object.keys(value).every((key) => KEYS.has(key));
}

/** In document order. */
export function referencesIn(value: unknown): StoredReference[] {
  const found: StoredReference[] = [];
  // Iterative, because values may be nested deeper than the call stack allows.
  const pending = [value];
  while (pending.length > 0) {
    const current = pending.pop();
    if (isFileReference(current)) found.push(current);
    else if (typeof current === 'object' && current !== null)
      for (const inner of Object.values(current).reverse()) pending.push(inner);
  }
  return found;
}

/**
 * A copy in which `complete` replaces each reference. References to files that the run may not read stay
 * unchanged.
 */
export async function completed(
  value: unknown,
  complete: (reference: StoredReference) => Promise<Record<string, unknown> | null>,
): Promise<unknown> {
  const references = referencesIn(value);
  if (references.length === 0) return value;
  const replacements = new Map<unknown, unknown>();
  for (const reference of references) replacements.set(reference, (await complete(reference)) ?? reference);
  const replace = (current: unknown): unknown => {
    if (replacements.has(current)) return replacements.get(current);
    if (Array.isArray(current)) return current.map(replace);
    return isRecord(current)
      ? Object.fromEntries(Object.entries(current).map(([key, inner]) => [key, replace(inner)]))
      : current;
  };
  return replace(value);
}

/** With a temporary `url` that needs no login. */
export function withLinks(value: unknown, files: CallFiles): Promise<unknown> {
  return completed(value, async (reference) => {
    const url = await files.link(reference.file_id);
    return url === null ? null : { ...reference, url };
  });
}

/** With the content as `base64`; `CallFiles.read` limits the total size. */
export function withContents(value: unknown, files: CallFiles): Promise<unknown> {
  return completed(value, async (reference) => {
    const file = await files.read(reference.file_id);
    return file === null ? null : { ...reference, base64: Buffer.from(file.bytes).toString('base64') };
  });
}

/** @throws Fault (validation) if the run may not read a file of that id */
export async function openReference(
  reference: StoredReference,
  files: CallFiles,
): Promise<NonNullable<Awaited<ReturnType<CallFiles['open']>>>> {
  const file = await files.open(reference.file_id);
  if (file === null)
    throw fault('validation', `There is no file ${reference.file_id} that this run may read`);
  return file;
}
