/** The cookie with the mark of a device that has logged in before (domain/auth/device.ts). */
import type { Context } from 'koa';

const deviceCookie = 'cadenza_device';
const deviceCookieSeconds = 365 * 86_400;

export function deviceMarkOf(ctx: Context): string | null {
  return ctx.cookies.get(deviceCookie) ?? null;
}

/** Browsers send the cookie to this endpoint only, and scripts cannot read it. */
export function setDeviceCookie(ctx: Context, baseUrl: string, mark: string): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  return (
    `${deviceCookie}=${mark}; Path=${ctx.path}; Max-Age=${deviceCookieSeconds}; ` +
    `HttpOnly; SameSite=Strict${secure}`
  );
}
