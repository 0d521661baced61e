/** Streams an upload to the file store, raw or as `multipart/form-data`. */
import { escapeToken } from '../../../contracts/json-pointer.ts';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import * as contentDisposition from 'content-disposition';
import type { Context } from 'koa';

import { AppError, badRequest, invalid } from '../../../domain/errors.ts';
import type { FileStore } from '../../../domain/files/ports.ts';
import { MAX_FILE_BYTES, receiveFile, tooLarge, type Upload } from '../../../domain/files/service.ts';

/** File attributes from the body and its headers; the query overrides them. */
export interface Described {
  name?: string | undefined;
  media_type?: string | undefined;
  visibility?: string | undefined;
}

export interface Uploaded {
  upload: Upload;
  described: Described;
}

/** Allowance for boundaries, part headers and other fields. */
const MULTIPART_OVERHEAD_BYTES = 64 * 1024;
/** Reads and discards this much of a rejected body, so that the client gets to read the response. */
const DRAIN_BYTES = 8 * 1024 * 1024;
const DRAIN_MS = 3_000;

/**
 * @throws 413; 415; 400 for a body that ends early; 422 for a form without exactly one file. Nothing stays in
 * the store then.
 */
export async function receiveUpload(
  ctx: Context,
  store: FileStore,
  maxBytes = MAX_FILE_BYTES,
): Promise<Uploaded> {
  const form = ctx.is('multipart/form-data') === 'multipart/form-data';
  try {
    checkEncoding(ctx);
    if (Number(ctx.get('content-length') || 0) > maxBytes + (form ? MULTIPART_OVERHEAD_BYTES : 0))
      throw tooLarge(maxBytes);
    return form ? await receiveForm(ctx, store, maxBytes) : await receiveRaw(ctx, store, maxBytes);
  } catch (error) {
    if (ctx.req.destroyed && !ctx.req.complete)
      throw badRequest('incomplete_body', 'The connection ended before the body did.');
    await drain(ctx);
    throw error;
  }
}

function checkEncoding(ctx: Context): void {
  const coding = ctx.get('content-encoding');
  if (coding && coding !== 'identity') {
    throw new AppError(
      'unsupported_media_type',
      'unsupported_media_type',
      `Content-Encoding ${coding} is not supported.`,
    );
  }
}

async function receiveRaw(ctx: Context, store: FileStore, maxBytes: number): Promise<Uploaded> {
  const described: Described = {
    ...nameOf(ctx.get('content-disposition')),
    media_type: ctx.get('content-type'),
  };
  return { upload: await receiveFile(store, bodyOf(ctx), { maxBytes }), described };
}

/**
 * The file name in `Content-Disposition: attachment; filename="…"`, which some clients send with a raw body.
 */
function nameOf(header: string): Described {
  if (header === '') return {};
  try {
    const { filename } = contentDisposition.parse(header).parameters;
    return filename === undefined ? {} : { name: filename };
  } catch {
    throw badRequest('invalid_content_disposition', 'The Content-Disposition header is malformed.');
  }
}

/** The request's chunks. Leaving the loop early does not destroy the connection, which the response needs. */
function bodyOf(ctx: Context): AsyncIterable<Buffer> {
  return ctx.req.iterator({ destroyOnReturn: false });
}

async function receiveForm(ctx: Context, store: FileStore, maxBytes: number): Promise<Uploaded> {
  const described: Described = {};
  let file: Readable | null = null;
  let receiving: Promise<Upload> | null = null;
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  const parser = openParser(ctx);
  parser.on('file', (_field, stream, filename, _encoding, type) => {
    file = stream;
    // The parser also emits form errors here, even when nothing reads the stream any more.
    stream.on('error', () => undefined);
    Object.assign(described, { ...(filename ? { name: filename } : {}), media_type: type });
    receiving = receiveFile(store, stream, { maxBytes });
    receiving.catch(failure.reject);
  });
  parser.on('field', (field, value, _nameCut, valueCut) => {
    const known = field === 'name' || field === 'visibility' || field === 'media_type';
    if (!known) failure.reject(fieldError(field, 'unknown_field', 'is not a known field'));
    else if (valueCut) failure.reject(fieldError(field, 'too_long', 'is too long'));
    else described[field] = value;
  });
  for (const event of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const) {
    parser.on(event, () =>
      failure.reject(fieldError('file', 'one_file_only', 'a request must contain exactly one file')),
    );
  }
  parser.on('error', () =>
    failure.reject(badRequest('malformed_body', 'The form is truncated or not multipart/form-data.')),
  );
  try {
    await feed(ctx, parser, maxBytes, failure.promise);
    const received = receiving as Promise<Upload> | null;
    if (received === null)
      throw fieldError('file', 'required', 'the form contains no file: send one part with a filename');
    return { upload: await received, described: withoutEmpty(described) };
  } catch (error) {
    // TypeScript does not see the assignments in the handlers above.
    (file as Readable | null)?.destroy();
    await (receiving as Promise<Upload> | null)?.then(
      (upload) => upload.discard(),
      () => undefined,
    );
    throw error;
  } finally {
    parser.destroy();
  }
}

type Parser = InstanceType<typeof Busboy>;

function openParser(ctx: Context): Parser {
  try {
    return new Busboy({
      headers: { ...ctx.req.headers, 'content-type': ctx.get('content-type') },
      limits: {
        files: 1,
        fields: 10,
        parts: 12,
        fieldSize: 4_000,
        fieldNameSize: 100,
        headerPairs: 20,
        headerSize: 8_000,
      },
      isPartAFile: (_field, type, filename) => filename !== undefined || type === 'application/octet-stream',
    });
  } catch {
    throw badRequest('malformed_body', 'The Content-Type of the form has no boundary.');
  }
}

/** Feeds the body to the parser as fast as the store accepts it. */
async function feed(ctx: Context, parser: Parser, maxBytes: number, failure: Promise<never>): Promise<void> {
  const finished = once(parser, 'finish');
  finished.catch(() => undefined);
  let size = 0;
  for await (const chunk of bodyOf(ctx)) {
    size += chunk.length;
    if (size > maxBytes + MULTIPART_OVERHEAD_BYTES) throw tooLarge(maxBytes);
    if (!parser.write(chunk)) await Promise.race([once(parser, 'drain'), failure]);
    // Lets a rejection that is already settled win.
    await Promise.race([failure, Promise.resolve()]);
  }
  parser.end();
  await Promise.race([finished, failure]);
  await Promise.race([failure, Promise.resolve()]);
}

/** Ignores empty form fields. */
function withoutEmpty(described: Described): Described {
  return Object.fromEntries(Object.entries(described).filter(([, value]) => value !== ''));
}

function fieldError(field: string, code: string, message: string): AppError {
  return invalid([
    {
      pointer: `/${escapeToken(field.toWellFormed().replaceAll('\0', ''))}`,
      code,
      message,
    },
  ]);
}

/**
 * Reads the rest of the body for a limited time. The connection then closes, because the remaining bytes must
 * not be parsed as a request.
 */
async function drain(ctx: Context): Promise<void> {
  ctx.set('Connection', 'close');
  if (ctx.req.complete) return;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, DRAIN_MS);
  let size = 0;
  const count = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > DRAIN_BYTES) resolve();
  };
  ctx.req.on('data', count).on('close', resolve).on('end', resolve);
  await ended;
  clearTimeout(timer);
  ctx.req.off('data', count).pause();
}
