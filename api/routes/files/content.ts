/**
 * Serves a file's bytes over HTTP: ranges, validators, and headers that keep browsers from executing the
 * content.
 */
import { Readable } from 'node:stream';
import * as contentDisposition from 'content-disposition';
import type { Context } from 'koa';

import type { StoredFile } from '../../../db/entities/stored-file.ts';
import { AppError } from '../../../domain/errors.ts';
import { parseRange } from '../../../domain/files/byte-range.ts';
import { FileContentMissing, type ByteRange, type FileStore } from '../../../domain/files/ports.ts';
import type { EndpointResponse } from '../../endpoint.ts';

/** Answers GET and HEAD. @throws 416 for an unsatisfiable range; 410 if the store has lost the content */
export async function sendContent(
  ctx: Context,
  store: FileStore,
  file: StoredFile,
): Promise<EndpointResponse> {
  const tag = contentTag(file);
  const headers: Record<string, string> = {
    ETag: tag,
    'Last-Modified': file.created_at.toUTCString(),
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
    'Content-Disposition': contentDisposition.create(file.name),
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Cross-Origin-Resource-Policy': 'same-origin',
  };
  if (notModified(ctx, tag)) return { status: 304, headers };
  const range = wantedRange(ctx, file, tag);
  if (range === 'unsatisfiable') {
    throw new AppError('range_not_satisfiable', 'range_not_satisfiable', `The file has ${file.size} bytes.`, {
      headers: { 'Content-Range': `bytes */${file.size}` },
    });
  }
  const partial = range !== 'none';
  headers['Content-Length'] = String(partial ? range.end - range.start + 1 : file.size);
  if (partial) headers['Content-Range'] = `bytes ${range.start}-${range.end}/${file.size}`;
  const body =
    ctx.method === 'HEAD' ? Readable.from([]) : await openContent(store, file, partial ? range : undefined);
  return { status: partial ? 206 : 200, body, type: file.media_type, headers };
}

/** The ETag is the content's hash, since a file's content never changes. */
export function contentTag(file: Pick<StoredFile, 'sha256'>): string {
  return `"${file.sha256}"`;
}

async function openContent(
  store: FileStore,
  file: StoredFile,
  range: ByteRange | undefined,
): Promise<Readable> {
  // An empty file has no valid byte range.
  if (file.size === 0) return Readable.from([]);
  try {
    return await store.open(file.id, range);
  } catch (error) {
    if (error instanceof FileContentMissing)
      throw new AppError('gone', 'content_lost', 'The content of this file no longer exists.');
    throw error;
  }
}

function notModified(ctx: Context, tag: string): boolean {
  const known = ctx.get('if-none-match');
  return (
    known !== '' &&
    (known.trim() === '*' || known.split(',').some((entry) => entry.trim().replace(/^W\//, '') === tag))
  );
}

/** The requested range; the whole file if `If-Range` names another state. */
function wantedRange(ctx: Context, file: StoredFile, tag: string): ByteRange | 'none' | 'unsatisfiable' {
  const ifRange = ctx.get('if-range').trim();
  return ifRange !== '' && ifRange !== tag ? 'none' : parseRange(ctx.get('range'), file.size);
}
