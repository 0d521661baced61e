/**
 * The API reference at `/docs`: Swagger UI over `/openapi.json`, from its package. Its page may run scripts,
 * styles and requests of this server only (ADR 31).
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Context, Middleware } from 'koa';

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
  const read = new Map<string, Promise<StaticFile>>();
  const serve = async (ctx: Context, name: string, path: string): Promise<void> => {
    let file = read.get(name);
    if (file === undefined) {
      file = readStaticFile(path, name);
      read.set(name, file);
      file.catch(() => read.delete(name));
    }
    ctx.set({ ...HEADERS });
    sendFile(ctx, await file);
  };
  return (ctx, next) => {
    const name = nameOf(ctx);
    const path = name === null ? undefined : paths[name];
    return name === null || path === undefined ? next() : serve(ctx, name, path);
  };
}

/** The path below `/docs`; null for requests that are not for its files. */
function nameOf(ctx: Context): string | null {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return null;
  if (ctx.path === `${BASE}/`) return '';
  return ctx.path === BASE || ctx.path.startsWith(`${BASE}/`) ? ctx.path.slice(BASE.length) : null;
}
