/** References to the platform's files in a value on its way to a counterpart: found, completed by a link or by their bytes. */
import { fault } from '../contracts/fault.ts';
import { isRecord } from '../contracts/is-record.ts';
import type { CallFiles, FileReference } from '../domain/ports.ts';

const KEYS = new Set(['file_id', 'url', 'name', 'media_type', 'size', 'sha256']);
const ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

export type StoredReference = FileReference & { file_id: string };

/** `{file_id, name?, media_type?, size?, sha256?, url?}`, and nothing else in it. */
export function isFileReference(value: unknown): value is StoredReference {
  if (!isRecord(value) || typeof value['file_id'] !== 'string' || !ID.test(value['file_id'])) return false;
  return Object.keys(value).every((key) => KEYS.has(key));
}

/** In the order in which they stand. */
export function referencesIn(value: unknown): StoredReference[] {
  const found: StoredReference[] = [];
  // Not by recursion: values may be nested deeper than the stack is.
  const open = [value];
  while (open.length > 0) {
    const one = open.pop();
    if (isFileReference(one)) found.push(one);
    else if (typeof one === 'object' && one !== null) for (const inner of Object.values(one).reverse()) open.push(inner);
  }
  return found;
}

/** The value with each reference as `complete` makes it. What is no file of the run's stays as it is. */
export async function completed(value: unknown, complete: (reference: StoredReference) => Promise<Record<string, unknown> | null>): Promise<unknown> {
  const references = referencesIn(value);
  if (references.length === 0) return value;
  const made = new Map<unknown, unknown>();
  for (const reference of references) made.set(reference, (await complete(reference)) ?? reference);
  const replace = (one: unknown): unknown => {
    if (made.has(one)) return made.get(one);
    if (Array.isArray(one)) return one.map(replace);
    return isRecord(one) ? Object.fromEntries(Object.entries(one).map(([key, inner]) => [key, replace(inner)])) : one;
  };
  return replace(value);
}

/** With a `url` that needs no log-in, for a time. */
export function withLinks(value: unknown, files: CallFiles): Promise<unknown> {
  return completed(value, async (reference) => {
    const url = await files.link(reference.file_id);
    return url === null ? null : { ...reference, url };
  });
}

/** With their content as `base64`; together at most what `CallFiles.read` gives. */
export function withContents(value: unknown, files: CallFiles): Promise<unknown> {
  return completed(value, async (reference) => {
    const file = await files.read(reference.file_id);
    return file === null ? null : { ...reference, base64: Buffer.from(file.bytes).toString('base64') };
  });
}

/** @throws Fault (validation) where there is none of that id for who runs the call. */
export async function openReference(reference: StoredReference, files: CallFiles): Promise<NonNullable<Awaited<ReturnType<CallFiles['open']>>>> {
  const file = await files.open(reference.file_id);
  if (file === null) throw fault('validation', `There is no file ${reference.file_id} that this run may read`);
  return file;
}
