/**
 * The cookie of a log-in that has begun. It comes back with a page of the issuer, so it is `SameSite=Lax`.
 */
import type { Context } from 'koa';

import { PENDING_SECONDS } from '../../../domain/identity/pending-log-in.ts';

function nameFor(baseUrl: string): string {
  return baseUrl.startsWith('https:') ? '__Host-cadenza-sso' : 'cadenza-sso';
}

export function pendingCookieOf(ctx: Context, baseUrl: string): string | null {
  return ctx.cookies.get(nameFor(baseUrl)) || null;
}

/** `value` null removes it. */
export function pendingCookie(baseUrl: string, value: string | null): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  const age = value === null ? 0 : PENDING_SECONDS;
  return `${nameFor(baseUrl)}=${value ?? ''}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Lax${secure}`;
}
