/**
 * The session cookie of browsers. Browsers attach it to requests that foreign pages make, so it counts only
 * on requests that come from this server's own pages.
 */
import type { Context } from 'koa';

import type { EntityManager } from '../../db/orm.ts';
import { callerOfCookie, COOKIE_SECONDS } from '../../domain/auth/cookie-sessions.ts';
import type { Caller, KnownCallers } from '../../domain/auth/known-callers.ts';

/**
 * `__Host-` makes browsers accept the cookie from this host over HTTPS only, so no other host can plant one.
 * They accept neither the prefix nor `Secure` over plain HTTP.
 */
export function sessionCookieName(baseUrl: string): string {
  return baseUrl.startsWith('https:') ? '__Host-cadenza' : 'cadenza';
}

/** Null without a cookie. */
export function sessionSecretOf(ctx: Context, baseUrl: string): string | null {
  return ctx.cookies.get(sessionCookieName(baseUrl)) || null;
}

export function setSessionCookie(baseUrl: string, secret: string): string {
  return cookie(baseUrl, secret, COOKIE_SECONDS);
}

export function clearSessionCookie(baseUrl: string): string {
  return cookie(baseUrl, '', 0);
}

function cookie(baseUrl: string, value: string, maxAgeSeconds: number): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  return (
    `${sessionCookieName(baseUrl)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; ` +
    `HttpOnly; SameSite=Strict${secure}`
  );
}

/** The user for whom a page was drawn, by id. Another tab may have logged in somebody else meanwhile. */
const USER_HEADER = 'cadenza-user';

/**
 * Finds the user of a browser's session, or says why the request has none. For a read it may be one that is
 * `known`.
 */
export async function identifyByCookie(
  fork: () => EntityManager,
  ctx: Context,
  baseUrl: string,
  known?: KnownCallers,
): Promise<Caller | 'token_required' | 'foreign_page' | 'session_ended' | 'another_user'> {
  const secret = sessionSecretOf(ctx, baseUrl);
  if (secret === null) return 'token_required';
  if (!isFromOwnPage(ctx, baseUrl)) return 'foreign_page';
  const read = async (): Promise<Caller | 'session_ended'> => {
    const found = await callerOfCookie(fork(), secret);
    if (found?.prolonged) ctx.append('Set-Cookie', setSessionCookie(baseUrl, secret));
    return found ?? 'session_ended';
  };
  // No token has a space.
  const caller = known === undefined ? await read() : await known.find(`cookie ${secret}`, read);
  // No cache may keep the answer for the next user of this browser.
  ctx.set('Cache-Control', 'private, no-cache');
  const meant = ctx.get(USER_HEADER);
  return caller !== 'session_ended' && meant !== '' && meant !== caller.actor.id ? 'another_user' : caller;
}

/**
 * Whether a page of this server made the request. `ctx.origin` is the client's header in Koa 3, so it must
 * not be what `Origin` is compared with.
 */
export function isFromOwnPage(ctx: Context, baseUrl: string): boolean {
  const reads = ctx.method === 'GET' || ctx.method === 'HEAD';
  const site = ctx.get('sec-fetch-site');
  if (site !== '') return site === 'same-origin' || (site === 'none' && reads);
  const origin = ctx.get('origin');
  if (origin !== '') return ownOrigins(ctx, baseUrl).includes(origin);
  return reads && !sendsFetchMetadata(ctx, baseUrl);
}

/** The configured origin, and the one under which this request found the server. */
function ownOrigins(ctx: Context, baseUrl: string): string[] {
  const { origin, protocol } = new URL(baseUrl);
  const used = `${protocol}//${ctx.host}`;
  return [origin, ...(URL.canParse(used) ? [new URL(used).origin] : [])];
}

/**
 * Whether browsers send `Sec-Fetch-Site` to this address. They do over HTTPS and to the own machine. On plain
 * HTTP elsewhere a page's own GET carries neither header; a foreign page cannot read the answer to its GET,
 * and the cookie is `SameSite=Strict`.
 */
function sendsFetchMetadata(ctx: Context, baseUrl: string): boolean {
  return baseUrl.startsWith('https:') || /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(ctx.hostname);
}
