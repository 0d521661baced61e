/** Keyset paging: an opaque cursor holds the sort key of the last record of a page; the next page is in `Link` (RFC 8288). */
import * as z from 'zod';

import { badRequest } from '../domain/errors.ts';
import type { EndpointContext } from './endpoint.ts';
import { unstorable } from './middleware/body.ts';

/**
 * Cuts rows, of which one more than `limit` was asked for, to a page. `keyOf` gives the values that the list is sorted by,
 * the last of them unique.
 */
export function page<T>(c: EndpointContext, rows: readonly T[], limit: number, keyOf: (row: T) => readonly unknown[]): { items: T[]; headers: Record<string, string> } {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  if (rows.length <= limit || last === undefined) {
    return { items, headers: {} };
  }
  const url = new URL(c.baseUrl + c.ctx.path);
  url.search = c.ctx.querystring;
  url.searchParams.set('cursor', encodeCursor(keyOf(last)));
  return { items, headers: { Link: `<${url.href}>; rel="next"` } };
}

export function encodeCursor(key: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

/** The values of a cursor, by a tuple schema; undefined without one; 400 if it is not one of this list's. */
export function decodeCursor<T>(cursor: string | undefined, schema: z.ZodType<T>): T | undefined {
  if (cursor === undefined) {
    return undefined;
  }
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (unstorable(key).length === 0) {
      return schema.parse(key);
    }
  } catch {
    // Told below.
  }
  throw badRequest('invalid_cursor', 'The cursor is not one of this list.', [{ pointer: 'cursor', code: 'invalid_cursor', message: 'take it from the Link header' }]);
}

/** For lists sorted by id alone. */
export const idCursor = z.tuple([z.guid()]);
