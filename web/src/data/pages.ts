/** Lists that are read page by page and kept current by single records. */

export interface Pages<T> {
  items: readonly T[];
  /** Cursor of the next page; null if all are read. */
  next: string | null;
}

export interface ListRules<T> {
  /** Whether the list shows the record. */
  shows: (record: T) => boolean;
  /** Negative if `left` comes first. */
  compare: (left: T, right: T) => number;
}

/**
 * The list with a record as it is now: replaced, moved, added or, if the list does not show it, removed. A
 * record that belongs behind the pages that are read stays out, because its page is still to come.
 */
export function withRecord<T extends { id: string }>(
  pages: Pages<T>,
  record: T,
  { shows, compare }: ListRules<T>,
): Pages<T> {
  const others = pages.items.filter(({ id }) => id !== record.id);
  if (!shows(record)) return others.length === pages.items.length ? pages : { ...pages, items: others };
  const at = others.findIndex((other) => compare(record, other) < 0);
  if (at < 0 && pages.next !== null && others.length === pages.items.length) return pages;
  return { ...pages, items: others.toSpliced(at < 0 ? others.length : at, 0, record) };
}

export function withoutRecord<T extends { id: string }>(pages: Pages<T>, id: string): Pages<T> {
  return { ...pages, items: pages.items.filter((other) => other.id !== id) };
}

/** Adds the next page; records that an event has brought already are not repeated. */
export function withPage<T extends { id: string }>(pages: Pages<T>, page: Pages<T>): Pages<T> {
  const known = new Set(pages.items.map(({ id }) => id));
  return { items: [...pages.items, ...page.items.filter(({ id }) => !known.has(id))], next: page.next };
}
