/** Takes an upload from the wire to the file store in chunks, raw or as `multipart/form-data`. */
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import * as contentDisposition from 'content-disposition';
import type { Context } from 'koa';

import { AppError, badRequest, invalid } from '../../../domain/errors.ts';
import type { FileStore } from '../../../domain/files/ports.ts';
import { maxFileBytes, receiveFile, tooLarge, type Upload } from '../../../domain/files/service.ts';

/** What the request says of the file; the query says it over this. */
export interface Described {
  name?: string | undefined;
  media_type?: string | undefined;
  visibility?: string | undefined;
}

export interface Uploaded {
  upload: Upload;
  described: Described;
}

/** Room for boundaries, part headers and the other fields. */
const multipartOverheadBytes = 64 * 1024;
/** So much of a refused body is read and thrown away, so that the client sees the answer. */
const drainBytes = 8 * 1024 * 1024;
const drainMs = 3_000;

/** @throws 413, 415, 400 for a body that ends early, 422 for a form without one file; nothing stays in the store then. */
export async function receiveUpload(ctx: Context, store: FileStore): Promise<Uploaded> {
  const form = ctx.is('multipart/form-data') === 'multipart/form-data';
  try {
    checkEncoding(ctx);
    if (Number(ctx.get('content-length') || 0) > maxFileBytes + (form ? multipartOverheadBytes : 0)) throw tooLarge();
    return form ? await receiveForm(ctx, store) : await receiveRaw(ctx, store);
  } catch (error) {
    if (ctx.req.destroyed && !ctx.req.complete) throw badRequest('incomplete_body', 'The connection ended before the body did.');
    await drain(ctx);
    throw error;
  }
}

function checkEncoding(ctx: Context): void {
  const coding = ctx.get('content-encoding');
  if (coding && coding !== 'identity') {
    throw new AppError('unsupported_media_type', 'unsupported_media_type', `A body in ${coding} coding is not read.`);
  }
}

async function receiveRaw(ctx: Context, store: FileStore): Promise<Uploaded> {
  const described: Described = { ...nameOf(ctx.get('content-disposition')), media_type: ctx.get('content-type') };
  return { upload: await receiveFile(store, bodyOf(ctx)), described };
}

/** `Content-Disposition: attachment; filename="…"`, as some clients send it with a raw body. */
function nameOf(header: string): Described {
  if (header === '') return {};
  try {
    const { filename } = contentDisposition.parse(header).parameters;
    return filename === undefined ? {} : { name: filename };
  } catch {
    throw badRequest('invalid_content_disposition', 'Content-Disposition cannot be read.');
  }
}

/** The request's chunks. Leaving the loop early keeps the connection for the answer. */
function bodyOf(ctx: Context): AsyncIterable<Buffer> {
  return ctx.req.iterator({ destroyOnReturn: false });
}

async function receiveForm(ctx: Context, store: FileStore): Promise<Uploaded> {
  const described: Described = {};
  let file: Readable | null = null;
  let receiving: Promise<Upload> | null = null;
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  const parser = openParser(ctx);
  parser.on('file', (_field, stream, filename, _encoding, type) => {
    file = stream;
    // The parser emits errors of the form on it, at times when nobody reads it any more.
    stream.on('error', () => undefined);
    Object.assign(described, { ...(filename ? { name: filename } : {}), media_type: type });
    receiving = receiveFile(store, stream);
    receiving.catch(failure.reject);
  });
  parser.on('field', (field, value, _nameCut, valueCut) => {
    const known = field === 'name' || field === 'visibility' || field === 'media_type';
    if (!known) failure.reject(fieldError(field, 'unknown_field', 'is not a field here'));
    else if (valueCut) failure.reject(fieldError(field, 'too_long', 'is too long'));
    else described[field] = value;
  });
  for (const event of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const) {
    parser.on(event, () => failure.reject(fieldError('file', 'one_file_only', 'one file to a request')));
  }
  parser.on('error', () => failure.reject(badRequest('malformed_body', 'The form cannot be read: it is cut off, or no multipart/form-data.')));
  try {
    await feed(ctx, parser, failure.promise);
    const received = receiving as Promise<Upload> | null;
    if (received === null) throw fieldError('file', 'required', 'the form has no file: send one part with a filename');
    return { upload: await received, described: withForm(described) };
  } catch (error) {
    // Types do not see what the handlers above assign.
    (file as Readable | null)?.destroy();
    await (receiving as Promise<Upload> | null)?.then((upload) => upload.discard(), () => undefined);
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
      limits: { files: 1, fields: 10, parts: 12, fieldSize: 4_000, fieldNameSize: 100, headerPairs: 20, headerSize: 8_000 },
      isPartAFile: (_field, type, filename) => filename !== undefined || type === 'application/octet-stream',
    });
  } catch {
    throw badRequest('malformed_body', 'The form cannot be read: its Content-Type names no boundary.');
  }
}

/** Hands the body to the parser at the pace at which the store takes it. */
async function feed(ctx: Context, parser: Parser, failure: Promise<never>): Promise<void> {
  const finished = once(parser, 'finish');
  finished.catch(() => undefined);
  let size = 0;
  for await (const chunk of bodyOf(ctx)) {
    size += chunk.length;
    if (size > maxFileBytes + multipartOverheadBytes) throw tooLarge();
    if (!parser.write(chunk)) await Promise.race([once(parser, 'drain'), failure]);
    // Settled rejections win over what is already there.
    await Promise.race([failure, Promise.resolve()]);
  }
  parser.end();
  await Promise.race([finished, failure]);
  await Promise.race([failure, Promise.resolve()]);
}

/** An empty form field says nothing. */
function withForm(described: Described): Described {
  return Object.fromEntries(Object.entries(described).filter(([, value]) => value !== ''));
}

function fieldError(field: string, code: string, message: string): AppError {
  return invalid([{ pointer: `/${field.toWellFormed().replaceAll('\0', '').replaceAll('~', '~0').replaceAll('/', '~1')}`, code, message }]);
}

/** Reads on for a bounded while. The connection ends with the answer: what is left of the body is no request. */
async function drain(ctx: Context): Promise<void> {
  ctx.set('Connection', 'close');
  if (ctx.req.complete) return;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, drainMs);
  let size = 0;
  const count = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > drainBytes) resolve();
  };
  ctx.req.on('data', count).on('close', resolve).on('end', resolve);
  await ended;
  clearTimeout(timer);
  ctx.req.off('data', count).pause();
}
