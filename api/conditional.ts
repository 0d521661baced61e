/** ETag and If-Match (RFC 9110), merge patch (RFC 7396), Prefer: wait (RFC 7240). */
import { hash } from 'node:crypto';
import type { Context } from 'koa';

import { isRecord } from '../contracts/is-record.ts';
import { preconditionFailed } from '../domain/errors.ts';

/** Strong ETag from the values that identify a record's state: its id with a revision or an update time. */
export function etag(...parts: (string | number | Date)[]): string {
  const text = parts.map((part) => (part instanceof Date ? part.toISOString() : String(part))).join('\n');
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`;
}

/** Whether the client's copy has this tag. RFC 9110 section 13.1.2: compared weakly. */
export function isCurrent(ctx: Context, tag: string): boolean {
  const tags = ctx.get('if-none-match').split(',');
  return tags.some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag);
}

/** @throws 412 if `If-Match` names another state. Call it with the row locked. */
export function checkIfMatch(ctx: Context, current: string): void {
  const wanted = ctx.get('if-match');
  if (wanted && wanted.trim() !== '*' && !wanted.split(',').some((tag) => tag.trim() === current)) {
    throw preconditionFailed();
  }
}

/**
 * Applies a merge patch (RFC 7396): objects merge, null removes a key, everything else replaces. Returns a
 * new value.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) {
    return patch;
  }
  const merged = new Map(Object.entries(isRecord(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      merged.delete(key);
    } else {
      merged.set(key, mergePatch(merged.get(key), value));
    }
  }
  return Object.fromEntries(merged);
}

const LONGEST_WAIT_SECONDS = 60;

/**
 * Seconds of `Prefer: wait=N`, at most 60; null without the header. Responses must then send
 * `Preference-Applied`.
 */
export function preferredWaitSeconds(ctx: Context): number | null {
  const found = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i.exec(ctx.get('prefer'));
  return found ? Math.min(Number(found[1]), LONGEST_WAIT_SECONDS) : null;
}
