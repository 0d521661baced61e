/**
 * Compresses responses that are text in memory: JSON, pages, diagrams. Streams and files are sent as they
 * are.
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Context, Middleware } from 'koa';

type Coding = 'br' | 'gzip';

/** Below this size, compression costs more than it saves. */
const THRESHOLD_BYTES = 1024;

/** While as much is being compressed, further answers are sent as they are, so that none wait in memory. */
const MAX_COMPRESSING_BYTES = 32 * 1024 * 1024;
let compressingBytes = 0;

/** Moderate levels. The work runs on Node's thread pool and does not block the event loop. */
const encode: Record<Coding, (text: string) => Promise<Buffer>> = {
  br: (text) => promisify(brotliCompress)(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (text) => promisify(gzip)(text, { level: 6 }),
};

/**
 * Responses with `Cache-Control: no-store` hold secrets or are read once, so they stay uncompressed: the
 * length of a compressed secret leaks information (BREACH).
 *
 * RFC 9110 §8.8.3.3: each content coding has its own strong ETag, here `"tag:gzip"` beside `"tag"`. Handlers
 * see tags without the coding, so `If-Match` and `If-None-Match` work with either.
 */
export const compressionMiddleware: Middleware = async (ctx, next) => {
  const knownCoding = stripCodings(ctx);
  await next();
  const { body } = ctx;
  if (ctx.status === 304) {
    tagWith(ctx, knownCoding);
    return;
  }
  if (typeof body !== 'string' || ctx.headerSent || ctx.res.hasHeader('Content-Encoding')) return;
  if (/\bno-(?:store|transform)\b/.test(String(ctx.res.getHeader('Cache-Control')))) return;
  ctx.vary('Accept-Encoding');
  if (ctx.req.headers['accept-encoding'] === undefined) return;
  const bytes = Buffer.byteLength(body);
  if (bytes < THRESHOLD_BYTES || compressingBytes >= MAX_COMPRESSING_BYTES) return;
  const coding = ctx.acceptsEncodings(['br', 'gzip', 'identity']);
  if (coding !== 'br' && coding !== 'gzip') return;
  compressingBytes += bytes;
  try {
    ctx.body = await encode[coding](body);
  } finally {
    compressingBytes -= bytes;
  }
  ctx.set('Content-Encoding', coding);
  tagWith(ctx, coding);
};

/** Removes the codings from the request's ETags. @returns the coding in `If-None-Match` */
function stripCodings({ req }: Context): Coding | null {
  const codings = /:(br|gzip)(?=")/g;
  const { 'if-none-match': known, 'if-match': wanted } = req.headers;
  if (wanted !== undefined) req.headers['if-match'] = wanted.replaceAll(codings, '');
  if (known === undefined) return null;
  req.headers['if-none-match'] = known.replaceAll(codings, '');
  const coding = codings.exec(known)?.[1];
  return coding === 'br' || coding === 'gzip' ? coding : null;
}

function tagWith(ctx: Context, coding: Coding | null): void {
  const tag = String(ctx.res.getHeader('ETag'));
  if (coding !== null && tag.endsWith('"')) ctx.set('ETag', `${tag.slice(0, -1)}:${coding}"`);
}
