/** Local files as the input of an agent or a workflow: uploaded, and given by reference. */
import { openAsBlob } from 'node:fs';
import { basename, extname } from 'node:path';

import { isRecord } from '../../contracts/is-record.ts';
import type { Cli } from './cli.ts';
import { CliError, usageError } from './errors.ts';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.flac': 'audio/flac',
  '.gif': 'image/gif',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.m4a': 'audio/mp4',
  '.md': 'text/markdown',
  '.mp3': 'audio/mpeg',
  '.ogg': 'audio/ogg',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.txt': 'text/plain',
  '.wav': 'audio/wav',
  '.webm': 'audio/webm',
  '.webp': 'image/webp',
};

/** By the extension. */
function mediaTypeOf(path: string): string {
  return MEDIA_TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream';
}

/** @throws CliError if it cannot be read */
export async function openUpload(path: string, type = mediaTypeOf(path)): Promise<Blob> {
  try {
    return await openAsBlob(path, { type });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError(`Cannot read ${path}: ${reason}`, { code: 'file_unreadable' });
  }
}

/** The input with the files: `name=path` sets a field, a path alone adds to the list `files`. */
export async function withFiles(cli: Cli, input: unknown, attached: readonly string[]): Promise<unknown> {
  if (attached.length === 0) return input;
  if (input !== undefined && !isRecord(input)) throw usageError('--attach needs an input that is an object.');
  const value: Record<string, unknown> = { ...input };
  for (const given of attached) {
    const [, name, path = given] = /^([^=/\\.]+)=(.+)$/s.exec(given) ?? [];
    const body = await openUpload(path);
    const query = { name: basename(path) };
    const file = await cli.client.call('uploadFile', { query, body, signal: cli.signal });
    const reference = {
      file_id: file.id,
      name: file.name,
      media_type: file.media_type,
      size: file.size,
      sha256: file.sha256,
    };
    const others = Array.isArray(value['files']) ? (value['files'] as unknown[]) : [];
    if (name === undefined) value['files'] = [...others, reference];
    else value[name] = reference;
  }
  return value;
}
