/** Links that expire, for the stored files that an output names. */
import type { SigningKeys } from '../auth/signing-keys.ts';
import { createFileLink } from '../files/file-link.ts';
import type { FileLink } from './output.ts';

const MAX_FILES = 100;

/** Looked for in the output first, so that showing it needs no waiting. */
export async function linksOf({ keys, baseUrl }: { keys: SigningKeys; baseUrl: string }, output: unknown): Promise<FileLink> {
  const links = new Map<string, string>();
  for (const id of [...new Set(fileIds(output))].slice(0, MAX_FILES)) links.set(id, (await createFileLink({ keys, baseUrl }, id)).url);
  return (id) => links.get(id) ?? null;
}

function fileIds(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(fileIds);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]) => (key === 'file_id' && typeof entry === 'string' ? [entry] : fileIds(entry)));
}
