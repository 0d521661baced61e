/** The cookie with the mark of a device that has logged in before (domain/auth/device.ts). */
import type { Context } from 'koa';

const DEVICE_COOKIE = 'cadenza_device';
const DEVICE_COOKIE_SECONDS = 365 * 86_400;

export function deviceMarkOf(ctx: Context): string | null {
  return ctx.cookies.get(DEVICE_COOKIE) ?? null;
}

/** Browsers send the cookie to this endpoint only, and scripts cannot read it. */
export function setDeviceCookie(ctx: Context, baseUrl: string, mark: string): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  return (
    `${DEVICE_COOKIE}=${mark}; Path=${ctx.path}; Max-Age=${DEVICE_COOKIE_SECONDS}; ` +
    `HttpOnly; SameSite=Strict${secure}`
  );
}
