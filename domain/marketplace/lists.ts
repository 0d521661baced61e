/** Lists of items. Each order is a keyset on an index, so every page costs the same. */
import { isUuid } from '../../contracts/uuid.ts';
import { MarketplaceItem, type ItemKind, type ItemStatus } from '../../db/entities/marketplace-item.ts';
import { listedColumns, type ListView } from '../../db/large-fields.ts';
import type { EntityManager, FilterQuery } from '../../db/orm.ts';
import { arrayLiteral, containsPattern } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { statesOf, type ItemState } from './items.ts';

export interface ItemFilter {
  view?: ListView | undefined;
  kind?: ItemKind | undefined;
  status?: ItemStatus | undefined;
  /** The published agent or workflow. */
  ref_id?: string | undefined;
  /** Items with a version that is submitted; others than admins see own ones only. */
  waiting?: boolean | undefined;
  category?: string | undefined;
  tag?: string | undefined;
  /** User id or username. */
  publisher?: string | undefined;
  /** Substring of name, summary or description; case is ignored. */
  q?: string | undefined;
}

/** The sort key of the previous page's last item. All orders are descending, with the id last. */
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

/** Items that the actor may see, at most `limit`. */
export async function listItems(
  em: EntityManager,
  actor: Actor,
  filter: ItemFilter,
  cursor: ItemCursor,
  limit: number,
): Promise<ListedItem[]> {
  const conditions: FilterQuery<MarketplaceItem>[] = [];
  if (!isAdmin(actor))
    conditions.push(
      (filter.status === undefined || filter.status === 'approved') && filter.waiting !== true
        ? { $or: [{ status: 'approved' }, { publisher_id: actor.id }] }
        : { publisher_id: actor.id },
    );
  if (filter.kind !== undefined) conditions.push({ kind: filter.kind });
  if (filter.status !== undefined) conditions.push({ status: filter.status });
  if (filter.ref_id !== undefined) conditions.push({ ref_id: filter.ref_id });
  if (filter.waiting === true) conditions.push({ waiting: true });
  if (filter.category !== undefined) conditions.push({ categories: { $contains: [filter.category] } });
  if (filter.tag !== undefined) conditions.push({ tags: { $contains: [filter.tag] } });
  if (filter.publisher !== undefined) {
    const publisher = await publisherId(em, filter.publisher);
    if (publisher === null) return [];
    conditions.push({ publisher_id: publisher });
  }
  if (filter.q !== undefined && filter.q !== '') {
    const pattern = containsPattern(filter.q);
    conditions.push({
      $or: [
        { name: { $ilike: pattern } },
        { summary: { $ilike: pattern } },
        { description: { $ilike: pattern } },
      ],
    });
  }
  const position = after(cursor);
  if (position !== null) conditions.push(position);
  const found = await em.find(
    MarketplaceItem,
    { $and: conditions },
    { fields: ['id'], orderBy: ORDER[cursor.sort], limit },
  );
  return statesOf(
    em,
    actor,
    await readListed(
      em,
      found.map(({ id }) => id),
      filter.view,
    ),
  );
}

type Times = 'created_at' | 'published_at' | 'listed_at' | 'updated_at';
type Large = 'summary' | 'description' | 'categories' | 'tags' | 'requires';

/** The columns of an item; large fields are null and named in `omitted`. */
type ListedItemRow = Omit<MarketplaceItem, Times | Large | 'rating_sum' | 'waiting'> & {
  [Key in Large]: MarketplaceItem[Key] | null;
} & {
  created_at: Date | string;
  published_at: Date | string | null;
  listed_at: Date | string;
  updated_at: Date | string;
  omitted: string[];
};

export type ListedItem = Omit<ItemState, 'item'> & { item: ListedItemRow };

/** In the order of `ids`. */
async function readListed(
  em: EntityManager,
  ids: readonly string[],
  view: ListView | undefined,
): Promise<ListedItemRow[]> {
  if (ids.length === 0) return [];
  const texts = ['summary', 'description', 'requires'].map((name) => ({ name, column: `i.${name}` }));
  const arrays = ['categories', 'tags'].map((name) => ({
    name,
    column: `i.${name}`,
    select: `to_json(i.${name})`,
  }));
  return em.execute<ListedItemRow[]>(
    `select i.id, i.kind, i.ref_id, i.publisher_id, i.status, i.version, i.digest, i.name, i.license,
            i.installs, i.rating_count, i.rating, i.created_at, i.published_at, i.listed_at, i.updated_at,
            ${listedColumns([...texts, ...arrays], { view })}
       from unnest(?::uuid[]) with ordinality as wanted (id, place)
            join marketplace_item i on i.id = wanted.id
      order by wanted.place`,
    [arrayLiteral(ids)],
  );
}

/** The first condition bounds the index scan; the second drops rows already shown. */
function after(cursor: ItemCursor): FilterQuery<MarketplaceItem> | null {
  if (cursor.after === undefined) return null;
  switch (cursor.sort) {
    case 'new': {
      const [listedAt, id] = cursor.after;
      const at = new Date(listedAt);
      return {
        $and: [{ listed_at: { $lte: at } }, { $or: [{ listed_at: { $lt: at } }, { id: { $lt: id } }] }],
      };
    }
    case 'installs': {
      const [installs, id] = cursor.after;
      return {
        $and: [
          { installs: { $lte: installs } },
          { $or: [{ installs: { $lt: installs } }, { id: { $lt: id } }] },
        ],
      };
    }
    case 'rating': {
      const [rating, count, id] = cursor.after;
      const next = [
        { rating: { $lt: rating } },
        { rating_count: { $lt: count } },
        { $and: [{ rating_count: count }, { id: { $lt: id } }] },
      ];
      return { $and: [{ rating: { $lte: rating } }, { $or: next }] };
    }
  }
}

/** The sort key of an item, for the next page's cursor. */
export function keyOf(sort: ItemSort, { item }: ListedItem): readonly unknown[] {
  switch (sort) {
    case 'new':
      return [new Date(item.listed_at).toISOString(), item.id];
    case 'installs':
      return [item.installs, item.id];
    case 'rating':
      return [item.rating, item.rating_count, item.id];
  }
}

async function publisherId(em: EntityManager, publisher: string): Promise<string | null> {
  if (isUuid(publisher)) return publisher.toLowerCase();
  const [row] = await em.execute<{ id: string }[]>(
    'select id from user_account where lower(username) = lower(?)',
    [publisher],
  );
  return row?.id ?? null;
}
