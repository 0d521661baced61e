/**
 * The API reference at `/docs`: Swagger UI over `/openapi.json`, from its package. Its page may run scripts,
 * styles and requests of this server only (ADR 31). Below it, the documents.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Context, Middleware } from 'koa';

import { isDocument, readDocument } from './documents.ts';
import { readStaticFile, type StaticFile } from '../static/files.ts';
import { sendFile } from '../static/send.ts';

const BASE = '/docs';
const PAGE = join(import.meta.dirname, 'page');

const POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data:`,
  `connect-src 'self'`,
  `form-action 'none'`,
  `base-uri 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** Paths below `/docs`, and the files that they serve. */
function referenceFiles(): Readonly<Record<string, string>> {
  const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return {
    '': join(PAGE, 'index.html'),
    '/document.css': join(PAGE, 'document.css'),
    '/reference.css': join(PAGE, 'reference.css'),
    '/reference.js': join(PAGE, 'reference.js'),
    '/icon.png': join(swaggerUi, 'favicon-32x32.png'),
    '/swagger-ui.css': join(swaggerUi, 'swagger-ui.css'),
    '/swagger-ui-bundle.js': join(swaggerUi, 'swagger-ui-bundle.js'),
  };
}

/** Other paths, such as `/docs/agents/{id}`, go on to the API. */
export function referenceMiddleware(): Middleware {
  const paths = referenceFiles();
  const read = new Map<string, Promise<StaticFile | null>>();
  const fileOf = (name: string): Promise<StaticFile | null> | null => {
    const path = paths[name];
    if (path === undefined && !isDocument(name)) return null;
    const known = read.get(name);
    if (known !== undefined) return known;
    const file = path === undefined ? readDocument(name) : readStaticFile(path, name);
    read.set(name, file);
    // A file that is not there is looked for again: nobody fills the memory with names.
    const forget = () => read.delete(name);
    file.then((found) => found === null && forget(), forget);
    return file;
  };
  return async (ctx, next) => {
    const name = nameOf(ctx);
    const file = name === null ? null : await fileOf(name);
    if (file === null) return next();
    ctx.set({ ...HEADERS });
    sendFile(ctx, file);
  };
}

/** The path below `/docs`; null for requests that are not for its files. */
function nameOf(ctx: Context): string | null {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return null;
  if (ctx.path === `${BASE}/`) return '';
  return ctx.path === BASE || ctx.path.startsWith(`${BASE}/`) ? ctx.path.slice(BASE.length) : null;
}
