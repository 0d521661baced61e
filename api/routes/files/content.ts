/** The bytes of a file as HTTP serves them: ranges, validators, and headers that keep a browser from running them. */
import { Readable } from 'node:stream';
import * as contentDisposition from 'content-disposition';
import type { Context } from 'koa';

import type { StoredFile } from '../../../db/entities/stored-file.ts';
import { AppError } from '../../../domain/errors.ts';
import { parseRange } from '../../../domain/files/byte-range.ts';
import { FileContentMissing, type ByteRange, type FileStore } from '../../../domain/files/ports.ts';
import type { EndpointResponse } from '../../endpoint.ts';

/** Answers GET and HEAD. @throws 416, 410 when the store has lost the content. */
export async function sendContent(ctx: Context, store: FileStore, file: StoredFile): Promise<EndpointResponse> {
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
    throw new AppError('range_not_satisfiable', 'range_not_satisfiable', `The file has ${file.size} bytes.`, { headers: { 'Content-Range': `bytes */${file.size}` } });
  }
  const partial = range !== 'none';
  headers['Content-Length'] = String(partial ? range.end - range.start + 1 : file.size);
  if (partial) headers['Content-Range'] = `bytes ${range.start}-${range.end}/${file.size}`;
  const body = ctx.method === 'HEAD' ? Readable.from([]) : await openContent(store, file, partial ? range : undefined);
  return { status: partial ? 206 : 200, body, type: file.media_type, headers };
}

/** The content never changes under one id. */
export function contentTag(file: Pick<StoredFile, 'sha256'>): string {
  return `"${file.sha256}"`;
}

async function openContent(store: FileStore, file: StoredFile, range: ByteRange | undefined): Promise<Readable> {
  // A range of nothing cannot be asked for.
  if (file.size === 0) return Readable.from([]);
  try {
    return await store.open(file.id, range);
  } catch (error) {
    if (error instanceof FileContentMissing) throw new AppError('gone', 'content_lost', 'The content of this file is not there any more.');
    throw error;
  }
}

function notModified(ctx: Context, tag: string): boolean {
  const known = ctx.get('if-none-match');
  return known !== '' && (known.trim() === '*' || known.split(',').some((entry) => entry.trim().replace(/^W\//, '') === tag));
}

/** `If-Range` of another state: all of it. */
function wantedRange(ctx: Context, file: StoredFile, tag: string): ByteRange | 'none' | 'unsatisfiable' {
  const ifRange = ctx.get('if-range').trim();
  return ifRange !== '' && ifRange !== tag ? 'none' : parseRange(ctx.get('range'), file.size);
}
