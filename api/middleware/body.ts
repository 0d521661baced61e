/** Reads request bodies within limits. Everything that is refused here is about form, not about meaning. */
import type { Context } from 'koa';

import { AppError, badRequest, type FieldError } from '../../domain/errors.ts';

export const bodyLimitBytes = 2 * 1024 * 1024;
/** So much of a body that is too large is read and thrown away, so that the client sees the answer. */
const drainLimitBytes = 8 * 1024 * 1024;
const depthLimit = 64;

export interface RawBody {
  bytes: Buffer;
  /** Media type without parameters, lower case; empty if none was sent. */
  type: string;
  charset: string;
}

/** Reads all of the body. 413 over the limit; over 8 MiB the connection is closed after the answer. */
export async function readRawBody(ctx: Context, limitBytes: number): Promise<RawBody> {
  const [type = '', ...parameters] = (ctx.get('content-type') || '').split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((part) => part.startsWith('charset='))?.slice('charset='.length).replaceAll('"', '') ?? 'utf-8';
  const coding = ctx.get('content-encoding');
  if (coding && coding !== 'identity') {
    throw new AppError('unsupported_media_type', 'unsupported_media_type', `A body in ${coding} coding is not read.`);
  }
  const announced = Number(ctx.get('content-length') || 0);
  if (announced > Math.max(drainLimitBytes, limitBytes)) {
    ctx.set('Connection', 'close');
    throw tooLarge(limitBytes);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of ctx.req.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size <= limitBytes) {
      chunks.push(chunk);
    } else if (size > drainLimitBytes) {
      ctx.set('Connection', 'close');
      break;
    }
  }
  if (size > limitBytes) {
    throw tooLarge(limitBytes);
  }
  return { bytes: Buffer.concat(chunks), type, charset };
}

function tooLarge(limitBytes: number): AppError {
  return new AppError('too_large', 'body_too_large', `The body is larger than ${limitBytes / 1024 / 1024} MiB.`);
}

/** 415 unless the type is one of these; `application/json` stands for all its `+json` forms too. */
export function checkMediaType(raw: RawBody, consumes: readonly string[]): void {
  const fits = consumes.some((type) => type === raw.type || (type === 'application/json' && /^application\/[\w.-]+\+json$/.test(raw.type)));
  if (!fits || !['utf-8', 'utf8', 'us-ascii'].includes(raw.charset)) {
    throw new AppError('unsupported_media_type', 'unsupported_media_type', `Send the body as ${consumes.join(' or ')} in UTF-8.`, {
      headers: { Accept: consumes.join(', ') },
    });
  }
}

/** Text of a body; 400 if it is not UTF-8. */
export function decodeText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badRequest('malformed_body', 'The body is not valid UTF-8.');
  }
}

/** 400 for what is not JSON or is nested deeper than 64. */
export function parseJson(source: string): unknown {
  checkDepth(source);
  try {
    return JSON.parse(source);
  } catch (error) {
    throw badRequest('malformed_json', `The body is not valid JSON: ${error instanceof Error ? error.message : 'unreadable'}`);
  }
}

function checkDepth(source: string): void {
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < source.length; index += 1) {
    const char = source[index];
    if (quoted) {
      if (char === '\\') {
        index += 1;
      } else if (char === '"') {
        quoted = false;
      }
    } else if (char === '"') {
      quoted = true;
    } else if (char === '{' || char === '[') {
      depth += 1;
      if (depth > depthLimit) {
        throw badRequest('too_deep', `The body is nested deeper than ${depthLimit}.`);
      }
    } else if (char === '}' || char === ']') {
      depth -= 1;
    }
  }
}

/** Text that PostgreSQL cannot hold (NUL, half a surrogate pair), and numbers that no double holds. */
export function unstorable(value: unknown, pointer = ''): FieldError[] {
  if (typeof value === 'string') {
    return isStorable(value) ? [] : [{ pointer, code: 'invalid_characters', message: 'holds a NUL character or half a surrogate pair' }];
  }
  if (typeof value === 'number') {
    return Number.isFinite(value) ? [] : [{ pointer, code: 'out_of_range', message: 'is beyond the range of a number' }];
  }
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  return Object.entries(value).flatMap(([key, entry]) => {
    const inner = `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const ofKey = isStorable(key)
      ? []
      : [{ pointer: inner.toWellFormed().replaceAll('\0', '\uFFFD'), code: 'invalid_characters', message: 'has a name with a NUL character or half a surrogate pair' }];
    return [...ofKey, ...unstorable(entry, inner.toWellFormed().replaceAll('\0', '\uFFFD'))];
  });
}

export function isStorable(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}
