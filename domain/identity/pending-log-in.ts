/**
 * A log-in at an issuer that has begun. It is sealed in a cookie of the browser, so that nobody else can
 * complete it, and no copy of the api keeps anything.
 */
import { randomBytes } from 'node:crypto';
import * as z from 'zod';

import type { Encryption } from '../secrets/encryption.ts';

/** How long people may take at the issuer. */
export const PENDING_SECONDS = 900;
/** Browsers take cookies of 4096 bytes. */
const MAX_RETURN_LENGTH = 1_600;
const CONTEXT = 'pending_log_in';
export const CONSOLE = '/console/';

const pending = z.object({
  issuer_id: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  fresh: z.boolean(),
  return_to: z.string(),
  /** The user of the live session who links an identity; null for a log-in. */
  link: z.object({ userId: z.string(), sessionId: z.string() }).nullable(),
  until_ms: z.number(),
});
export type PendingLogIn = z.output<typeof pending>;

export function beginLogIn(
  args: Pick<PendingLogIn, 'issuer_id' | 'fresh' | 'return_to' | 'link'>,
): PendingLogIn {
  const random = (): string => randomBytes(32).toString('base64url');
  return {
    ...args,
    state: random(),
    nonce: random(),
    verifier: random(),
    until_ms: Date.now() + PENDING_SECONDS * 1_000,
  };
}

export function sealPending(encryption: Encryption, log: PendingLogIn): string {
  return encryption.encrypt(JSON.stringify(log), CONTEXT);
}

/** Null for a cookie that is not ours, or too old. */
export function openPending(encryption: Encryption, sealed: string): PendingLogIn | null {
  try {
    const opened = pending.parse(JSON.parse(encryption.decrypt(sealed, CONTEXT)));
    return opened.until_ms > Date.now() ? opened : null;
  } catch {
    return null;
  }
}

/** A page of ours that a browser may return to; any other address becomes the console. */
export function safeReturn(baseUrl: string, wanted: string | undefined): string {
  if (wanted === undefined || wanted.length > MAX_RETURN_LENGTH || !wanted.startsWith('/')) return CONSOLE;
  if (!URL.canParse(wanted, baseUrl)) return CONSOLE;
  const { origin, pathname, search } = new URL(wanted, baseUrl);
  const isOurs = origin === new URL(baseUrl).origin;
  const isPage = /^\/console(?:\/|$)/.test(pathname) || /^(?:\/api\/v1)?\/auth\/authorize$/.test(pathname);
  return isOurs && isPage ? `${pathname}${search}` : CONSOLE;
}
