/**
 * Keyset paging: an opaque cursor encodes the sort key of a page's last record, and `Link` (RFC 8288) has the
 * next page.
 */
import * as z from 'zod';

import { decodeCursor, encodeCursor, type KeysetPage } from '../db/sql.ts';
import { badRequest, type AppError } from '../domain/errors.ts';
import type { EndpointContext } from './endpoint.ts';
import { unstorable } from './middleware/body.ts';

/** What a list is sorted by, as its cursors hold it. */
export interface ListOrder<Row, Key> {
  /** Reads the values in a cursor. */
  key: z.ZodType<Key>;
  /** The values that a row is sorted by, the last of them unique. */
  valuesOf(row: Row): readonly unknown[];
  /** Whether the page ends with the row because of its size, and others may follow. */
  isCutAfter?(row: Row): boolean;
}

/** For lists sorted by one unique value. */
export function orderBy<Row, Key>(value: z.ZodType<Key>, valueOf: (row: Row) => Key): ListOrder<Row, Key> {
  return { key: z.tuple([value]).transform(([key]) => key), valuesOf: (row) => [valueOf(row)] };
}

/** For lists sorted by id alone. */
export const byId = orderBy<{ id: string }, string>(z.guid(), ({ id }) => id);

interface PageQuery {
  limit: number;
  cursor?: string | undefined;
}

/** `next` is the cursor of the next page; null on the last page. */
interface Page<Row> {
  items: Row[];
  next: string | null;
}

/**
 * Reads the page that the query asks for, for an endpoint's response. `read` gets the rest of the query as
 * its filter. @throws 400 for a cursor of another list or order
 */
export async function readPage<Row extends OrderRow, OrderRow, Key, Query extends PageQuery>(
  c: EndpointContext<unknown, Query>,
  order: ListOrder<OrderRow, Key>,
  read: (page: KeysetPage<Key>, filter: Omit<Query, keyof PageQuery>) => Promise<readonly Row[]>,
): Promise<{ items: Row[]; headers: Record<string, string> }> {
  const { limit, cursor, ...filter } = c.query;
  const { items, next } = await readKeysetPage(
    order,
    { limit, cursor },
    (keysetPage) => read(keysetPage, filter),
    () => invalidCursor(),
  );
  return { items, headers: next === null ? {} : { Link: nextLink(c, next) } };
}

/**
 * Reads one page of a list. `read` is asked for one row more than the page holds, which tells whether there
 * is a next page. `refuse` makes the error for a cursor of another list.
 */
export async function readKeysetPage<Row extends OrderRow, OrderRow, Key>(
  order: ListOrder<OrderRow, Key>,
  { limit, cursor }: PageQuery,
  read: (page: KeysetPage<Key>) => Promise<readonly Row[]>,
  refuse: () => AppError,
): Promise<Page<Row>> {
  const after = cursor === undefined ? undefined : decodeKey(cursor, order.key);
  if (after === null) throw refuse();
  const rows = await read({ after, limit: limit + 1 });
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const hasNext = last !== undefined && (rows.length > limit || order.isCutAfter?.(last) === true);
  return { items, next: hasNext ? encodeCursor(order.valuesOf(last)) : null };
}

/** @param name the parameter that the cursor is for */
export function nextLink(c: EndpointContext, cursor: string, name = 'cursor'): string {
  const url = new URL(c.baseUrl + c.ctx.path);
  url.search = c.ctx.querystring;
  url.searchParams.set(name, cursor);
  return `<${url.href}>; rel="next"`;
}

/** The sort key in a cursor; null if it is none of this list. */
export function decodeKey<Key>(cursor: string, schema: z.ZodType<Key>): Key | null {
  try {
    const values = decodeCursor(cursor);
    return unstorable(values).length === 0 ? schema.parse(values) : null;
  } catch {
    return null;
  }
}

/** @param name the parameter that has the cursor */
export function invalidCursor(name = 'cursor'): AppError {
  return badRequest(
    'invalid_cursor',
    'The cursor belongs to another list, or to another order of this one.',
    [{ pointer: name, code: 'invalid_cursor', message: 'must be a cursor from the Link header' }],
  );
}
