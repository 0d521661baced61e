/** ETag and If-Match (RFC 9110), merge patch (RFC 7396), Prefer: wait (RFC 7240). */
import { createHash } from 'node:crypto';
import type { Context } from 'koa';

import { isRecord } from '../contracts/is-record.ts';
import { preconditionFailed } from '../domain/errors.ts';

/** A strong tag of what makes one state of a record: id with revision or time of update. */
export function etag(...parts: (string | number | Date)[]): string {
  const text = parts.map((part) => (part instanceof Date ? part.toISOString() : String(part))).join('\n');
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
}

/** 412 if the caller has seen another state. Call it with the row locked. */
export function checkIfMatch(ctx: Context, current: string): void {
  const wanted = ctx.get('if-match');
  if (wanted && wanted.trim() !== '*' && !wanted.split(',').some((tag) => tag.trim() === current)) {
    throw preconditionFailed();
  }
}

/** RFC 7396: objects merge, null removes, all else replaces. Gives a new value. */
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

const longestWaitSeconds = 60;

/** Seconds of `Prefer: wait=N`, 60 at most; null without it. Answer then with `Preference-Applied`. */
export function preferredWaitSeconds(ctx: Context): number | null {
  const found = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i.exec(ctx.get('prefer'));
  return found ? Math.min(Number(found[1]), longestWaitSeconds) : null;
}
