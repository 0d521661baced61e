/** Lists of items. Each order is a keyset on an index, so that every page costs the same. */
import { MarketplaceItem, type ItemKind, type ItemStatus } from '../../db/entities/marketplace-item.ts';
import type { EntityManager, FilterQuery } from '../../db/orm.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { statesOf, type ItemState } from './items.ts';

export interface ItemFilter {
  kind?: ItemKind | undefined;
  status?: ItemStatus | undefined;
  category?: string | undefined;
  tag?: string | undefined;
  /** Id or user name. */
  publisher?: string | undefined;
  /** In name, summary or description, whatever the case. */
  q?: string | undefined;
}

/** The sort key of the last item of the page before; all orders go down, by id at last. */
export type ItemCursor =
  | { sort: 'new'; after?: readonly [listedAt: string, id: string] | undefined }
  | { sort: 'installs'; after?: readonly [installs: number, id: string] | undefined }
  | { sort: 'rating'; after?: readonly [rating: number, count: number, id: string] | undefined };

export type ItemSort = ItemCursor['sort'];

const ORDER = {
  new: { listed_at: 'desc', id: 'desc' },
  installs: { installs: 'desc', id: 'desc' },
  rating: { rating: 'desc', rating_count: 'desc', id: 'desc' },
} as const;

/** What the actor may see, at most `limit`. */
export async function listItems(em: EntityManager, actor: Actor, filter: ItemFilter, cursor: ItemCursor, limit: number): Promise<ItemState[]> {
  const conditions: FilterQuery<MarketplaceItem>[] = [];
  if (!isAdmin(actor)) conditions.push(filter.status === undefined || filter.status === 'approved' ? { $or: [{ status: 'approved' }, { publisher_id: actor.id }] } : { publisher_id: actor.id });
  if (filter.kind !== undefined) conditions.push({ kind: filter.kind });
  if (filter.status !== undefined) conditions.push({ status: filter.status });
  if (filter.category !== undefined) conditions.push({ categories: { $contains: [filter.category] } });
  if (filter.tag !== undefined) conditions.push({ tags: { $contains: [filter.tag] } });
  if (filter.publisher !== undefined) {
    const publisher = await publisherId(em, filter.publisher);
    if (publisher === null) return [];
    conditions.push({ publisher_id: publisher });
  }
  if (filter.q !== undefined && filter.q !== '') {
    const pattern = `%${filter.q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
    conditions.push({ $or: [{ name: { $ilike: pattern } }, { summary: { $ilike: pattern } }, { description: { $ilike: pattern } }] });
  }
  const position = after(cursor);
  if (position !== null) conditions.push(position);
  const items = await em.find(MarketplaceItem, { $and: conditions }, { orderBy: ORDER[cursor.sort], limit });
  return statesOf(em, actor, items);
}

/** The first condition bounds the index; the second drops what was shown. */
function after(cursor: ItemCursor): FilterQuery<MarketplaceItem> | null {
  if (cursor.after === undefined) return null;
  switch (cursor.sort) {
    case 'new': {
      const [listedAt, id] = cursor.after;
      const at = new Date(listedAt);
      return { $and: [{ listed_at: { $lte: at } }, { $or: [{ listed_at: { $lt: at } }, { id: { $lt: id } }] }] };
    }
    case 'installs': {
      const [installs, id] = cursor.after;
      return { $and: [{ installs: { $lte: installs } }, { $or: [{ installs: { $lt: installs } }, { id: { $lt: id } }] }] };
    }
    case 'rating': {
      const [rating, count, id] = cursor.after;
      const next = [{ rating: { $lt: rating } }, { rating_count: { $lt: count } }, { $and: [{ rating_count: count }, { id: { $lt: id } }] }];
      return { $and: [{ rating: { $lte: rating } }, { $or: next }] };
    }
  }
}

/** The sort key of an item, as the next page's cursor takes it. */
export function keyOf(sort: ItemSort, { item }: ItemState): readonly unknown[] {
  switch (sort) {
    case 'new':
      return [item.listed_at.toISOString(), item.id];
    case 'installs':
      return [item.installs, item.id];
    case 'rating':
      return [item.rating, item.rating_count, item.id];
  }
}

const uuidPattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

async function publisherId(em: EntityManager, publisher: string): Promise<string | null> {
  if (uuidPattern.test(publisher)) return publisher.toLowerCase();
  const [row] = await em.execute<{ id: string }[]>('select id from user_account where lower(username) = lower(?)', [publisher]);
  return row?.id ?? null;
}
