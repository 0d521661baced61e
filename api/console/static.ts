/**
 * Serves the console at `/console/`. Its page may run scripts, styles and requests of this server only, and
 * no text ever becomes HTML (Trusted Types).
 */
import type { Context, Middleware } from 'koa';

import { createStaticFiles } from '../static/files.ts';
import { sendFile } from '../static/send.ts';

const BASE = '/console';

const POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data: blob:`,
  `media-src 'self'`,
  `font-src 'self'`,
  `connect-src 'self'`,
  `worker-src 'self'`,
  `manifest-src 'self'`,
  `form-action 'self'`,
  `base-uri 'none'`,
  `frame-ancestors 'none'`,
  `require-trusted-types-for 'script'`,
  `trusted-types cadenza`,
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** @param folder the built console */
export function consoleMiddleware(folder: string): Middleware {
  const readFiles = createStaticFiles(folder);
  const serve = async (ctx: Context, path: string): Promise<void> => {
    if (ctx.path === BASE) {
      ctx.status = 308;
      ctx.redirect(`${BASE}/${ctx.search}`);
      return;
    }
    ctx.set({ ...HEADERS });
    const files = await readFiles();
    if (files === null) {
      notBuilt(ctx);
      return;
    }
    const file = files.byPath.get(path) ?? (namesFile(path) ? undefined : files.index);
    if (file === undefined) {
      ctx.status = 404;
      ctx.type = 'text/plain';
      ctx.body = 'The console has no such file.';
      return;
    }
    sendFile(ctx, file);
  };
  return (ctx, next) => {
    if (ctx.path === '/') {
      ctx.vary('Accept');
      if (ctx.accepts('json', 'html') === 'html') {
        ctx.redirect(`${BASE}/`);
        return undefined;
      }
    }
    const path = consolePath(ctx);
    return path === null ? next() : serve(ctx, path);
  };
}

/** The path below `/console/`; null for requests that are not for its files. */
function consolePath(ctx: Context): string | null {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return null;
  if (ctx.path === BASE) return '';
  if (!ctx.path.startsWith(`${BASE}/`) || ctx.path === `${BASE}/session`) return null;
  return ctx.path.slice(BASE.length + 1);
}

/** Whether the last part of the path has an ending. Other paths are screens of the console. */
function namesFile(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.indexOf('.');
  return dot >= 0 && dot < name.length - 1;
}

function notBuilt(ctx: Context): void {
  ctx.status = 503;
  ctx.set('Cache-Control', 'no-store');
  ctx.set('Retry-After', '5');
  ctx.type = 'text/html; charset=utf-8';
  ctx.body =
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Cadenza</title></head><body>' +
    '<h1>The console is not built</h1><p>Run <code>npm run build:console</code>, then reload this page. ' +
    'The API and its <a href="/docs">reference</a> work without it.</p></body></html>';
}
