/** Reads request bodies within limits. The checks here concern syntax, not meaning. */
import type { Context } from 'koa';

import { anonymous, type Actor } from '../../domain/auth/actor.ts';
import { addressKey } from '../../domain/auth/throttle.ts';
import {
  AppError,
  badRequest,
  jsonPointer,
  MAX_LISTED_ERRORS,
  type FieldError,
} from '../../domain/errors.ts';
import { threadMs } from '../../language/thread-time.ts';
import { createBodyTurns, type BodyTurn } from './body-turns.ts';
import { identifyAgain } from './identify-again.ts';
import { incomingBytes } from './incoming-bytes.ts';

export const BODY_LIMIT_BYTES = 2 * 1024 * 1024;
/** Endpoints with at most this limit are small: log-ins and what else has `MAX_AUTH_BODY_BYTES`. */
const SMALL_LIMIT_BYTES = 64 * 1024;
/**
 * Reads and discards this much of an oversized body, so that the client gets to read the response: a
 * connection that is closed with unread bytes is reset, and a proxy then answers 502.
 */
const DRAIN_LIMIT_BYTES = 64 * 1024 * 1024;
const MAX_DEPTH = 64;

export interface RawBody {
  bytes: Buffer;
  /** Media type without parameters, lower case; empty if none was sent. */
  type: string;
  charset: string;
  /** Work with the body counts as its caller's. */
  turn: BodyTurn;
}

/** Of the bodies of all callers, in whatever protocol they come. */
export const bodyTurns = createBodyTurns(() => performance.now(), threadMs);

/**
 * Reads the whole body.
 * @param until when the body stops counting towards the caller's bytes in memory: at the end of the response,
 * or as soon as the body is `read`
 * @throws 413 over the limit, and closes the connection if the body is over 64 MiB; 429 if the caller has too
 * many bytes in memory, or if their bodies have taken too much of the server's time; 401 or 403 if the caller
 * has lost the right to the request while a slow body arrived
 */
export async function readRawBody(
  ctx: Context,
  limitBytes: number,
  { until = 'answered' }: { until?: 'read' | 'answered' } = {},
): Promise<RawBody> {
  const [type = '', ...parameters] = (ctx.get('content-type') || '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  const charset =
    parameters
      .find((part) => part.startsWith('charset='))
      ?.slice('charset='.length)
      .replaceAll('"', '') ?? 'utf-8';
  const coding = ctx.get('content-encoding');
  if (coding && coding !== 'identity') {
    throw new AppError(
      'unsupported_media_type',
      'unsupported_media_type',
      `Content-Encoding ${coding} is not supported.`,
    );
  }
  const announced = Number(ctx.get('content-length') || 0);
  if (announced > Math.max(DRAIN_LIMIT_BYTES, limitBytes)) {
    ctx.set('Connection', 'close');
    throw tooLarge(limitBytes);
  }
  const actor: Actor | undefined = ctx.state['actor'];
  const isAnonymous = actor === undefined || actor === anonymous;
  const caller = isAnonymous ? addressKey(ctx.ip) : actor.id;
  // Log-ins, whose bodies are small, are not shut out by large bodies of others.
  const incoming = incomingBytes(caller, isAnonymous && limitBytes > SMALL_LIMIT_BYTES);
  ctx.res.once('close', () => incoming.release());
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of ctx.req.iterator({ destroyOnReturn: false })) {
      size += chunk.length;
      if (size <= limitBytes) {
        incoming.add(chunk.length);
        chunks.push(chunk);
      } else if (size > DRAIN_LIMIT_BYTES) {
        ctx.set('Connection', 'close');
        break;
      }
    }
  } catch (error) {
    incoming.release();
    // The rest of the body is not read.
    if (error instanceof AppError) ctx.set('Connection', 'close');
    throw error;
  }
  try {
    if (size > limitBytes) throw tooLarge(limitBytes);
    const turn = await bodyTurns.take(caller, size);
    await identifyAgain(ctx);
    return { bytes: Buffer.concat(chunks), type, charset, turn };
  } finally {
    // A destroyed socket does not emit `close` again.
    if (until === 'read' || size > limitBytes || ctx.req.socket.destroyed) incoming.release();
  }
}

function tooLarge(limitBytes: number): AppError {
  const limit = limitBytes < 1024 * 1024 ? `${limitBytes / 1024} KiB` : `${limitBytes / 1024 / 1024} MiB`;
  return new AppError('too_large', 'body_too_large', `The body is larger than ${limit}.`);
}

/** JSON, and the types that end in `+json`. */
export const isJsonType = (type: string): boolean => /^(application|text)\/([\w.-]+\+)?json$/.test(type);

/** `application/yaml`, its `+yaml` forms, and the names that RFC 9512 deprecates. */
export const isYaml = (type: string): boolean =>
  /^application\/(?:x-yaml|yaml|[\w.-]+\+yaml)$/.test(type) || /^text\/(?:vnd\.|x-)?yaml$/.test(type);

/** @throws 415 unless the type is in the list, which includes its `+json` or `+yaml` forms */
export function checkMediaType(raw: RawBody, consumes: readonly string[]): void {
  const fits = consumes.some(
    (type) =>
      type === raw.type ||
      (type === 'application/json' && /^application\/[\w.-]+\+json$/.test(raw.type)) ||
      (type === 'application/yaml' && isYaml(raw.type)),
  );
  if (!fits || !['utf-8', 'utf8', 'us-ascii'].includes(raw.charset)) {
    throw new AppError(
      'unsupported_media_type',
      'unsupported_media_type',
      `Send the body as ${consumes.join(' or ')} in UTF-8.`,
      {
        headers: { Accept: consumes.join(', ') },
      },
    );
  }
}

/** Decodes a body as text. @throws 400 if it is not UTF-8 */
export function decodeText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badRequest('malformed_body', 'The body is not valid UTF-8.');
  }
}

/** How much JSON may hold; no limit by default. */
export interface JsonBounds {
  names?: number;
  /** Of lists and objects, roughly. */
  values?: number;
}

/**
 * @param takesYaml whether the same could be sent as YAML
 * @throws 400 for invalid JSON, for JSON nested deeper than 64 levels, and for more than the bounds
 */
export function parseJson(source: string, takesYaml = false, bounds: JsonBounds = {}): unknown {
  checkStructure(source, bounds);
  try {
    const value: unknown = JSON.parse(source);
    if (typeof value === 'object' && value !== null && !MAYBE_UNSTORABLE.test(source)) storable.add(value);
    return value;
  } catch (error) {
    throw badRequest(
      'malformed_json',
      `The body is not valid JSON: ${error instanceof Error ? error.message : 'unreadable'}` +
        (takesYaml && !/^\s*[[{]/.test(source) ? '. Send YAML as application/yaml.' : ''),
    );
  }
}

/**
 * Matches JSON text in which `unstorable` may find something: an escaped NUL or surrogate (UTF-8 text has
 * neither unescaped), or a number with many digits or a two-digit exponent.
 */
const MAYBE_UNSTORABLE = /\\u(?:0000|[dD][89a-fA-F])|\d[eE]\+?\d\d|\d{290}/;
/** Parsed values whose text did not match. Testing the text is ten times faster than walking the values. */
const storable = new WeakSet<object>();

function checkStructure(source: string, { names = Infinity, values = Infinity }: JsonBounds): void {
  let [depth, colons, separators] = [0, 0, 0];
  let quoted = false;
  for (let index = 0; index < source.length; index += 1) {
    const code = source.charCodeAt(index);
    if (quoted) {
      if (code === BACKSLASH) index += 1;
      else if (code === QUOTE) quoted = false;
    } else if (code === QUOTE) {
      quoted = true;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1;
      separators += 1;
      if (depth > MAX_DEPTH)
        throw badRequest('too_deep', `The body is nested deeper than ${MAX_DEPTH} levels.`);
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth -= 1;
    } else if (code === COLON) {
      colons += 1;
    } else if (code === COMMA) {
      separators += 1;
    }
  }
  if (colons > names) throw tooWide('names', names);
  if (separators > values) throw tooWide('values', values);
}

/** The refusal of JSON, in any form, with more names or values than may be. */
export function tooWide(what: 'names' | 'values', most: number): AppError {
  return badRequest(`too_many_${what}`, `A request has at most ${most} ${what}.`);
}

const [QUOTE, BACKSLASH, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [34, 92, 123, 125, 91, 93];
const [COMMA, COLON] = [44, 58];

/**
 * Finds strings that PostgreSQL cannot store (NUL, unpaired surrogate) and numbers beyond a double, up to a
 * limit. Pointers are built only for errors: building one per value would take quadratic time.
 */
export function unstorable(root: unknown): FieldError[] {
  if (typeof root === 'object' && root !== null && storable.has(root)) return [];
  const errors: FieldError[] = [];
  const path: string[] = [];
  const add = (code: string, message: string): void => {
    errors.push({ pointer: jsonPointer(path).toWellFormed().replaceAll('\0', '\uFFFD'), code, message });
  };
  const walk = (value: unknown): void => {
    if (errors.length > MAX_LISTED_ERRORS) return;
    if (typeof value === 'string') {
      if (!isStorable(value)) add('invalid_characters', 'contains a NUL character or an unpaired surrogate');
    } else if (typeof value === 'number') {
      if (!Number.isFinite(value)) add('out_of_range', 'is outside the range of a number');
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, entry] of Object.entries(value)) {
        path.push(key);
        if (!isStorable(key))
          add('invalid_characters', 'has a key with a NUL character or an unpaired surrogate');
        walk(entry);
        path.pop();
      }
    }
  };
  walk(root);
  return errors;
}

export function isStorable(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}
