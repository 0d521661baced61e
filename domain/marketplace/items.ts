/** Items: read, withdraw, and which of its versions an item shows. `em` is the caller's transaction. */
import { compareBuild } from 'semver';

import { MarketplaceItem, type ItemStatus } from '../../db/entities/marketplace-item.ts';
import { MarketplaceVersion } from '../../db/entities/marketplace-version.ts';
import { LockMode, type EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { forbidden, notFound } from '../errors.ts';
import { mayChangeItem, maySeeItem } from './policy.ts';

/** An item with what a record is made of. Versions that the reader may see, newest first. */
export interface ItemState {
  item: MarketplaceItem;
  publisher: { id: string; username: string };
  versions: MarketplaceVersion[];
}

/** 404 for what is not there or may not be seen. */
export async function getItem(em: EntityManager, actor: Actor, id: string): Promise<MarketplaceItem> {
  const item = await em.findOne(MarketplaceItem, { id });
  if (item === null || !maySeeItem(actor, item)) throw notFound('item');
  return item;
}

/** Locks the row until the end of the transaction. 404 as above. */
export async function lockItem(em: EntityManager, actor: Actor, id: string): Promise<MarketplaceItem> {
  const item = await em.findOne(MarketplaceItem, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (item === null || !maySeeItem(actor, item)) throw notFound('item');
  return item;
}

export async function stateOf(em: EntityManager, actor: Actor, item: MarketplaceItem): Promise<ItemState> {
  const [state] = await statesOf(em, actor, [item]);
  if (state === undefined) throw notFound('item');
  return state;
}

/** Other people see approved versions only. */
export async function statesOf(em: EntityManager, actor: Actor, items: readonly MarketplaceItem[]): Promise<ItemState[]> {
  if (items.length === 0) return [];
  const versions = await em.find(MarketplaceVersion, { item_id: { $in: items.map(({ id }) => id) } }, { orderBy: { submitted_at: 'desc', id: 'desc' } });
  const publishers = await usernames(em, items.map(({ publisher_id }) => publisher_id));
  return items.map((item) => ({
    item,
    publisher: { id: item.publisher_id, username: publishers.get(item.publisher_id) ?? '' },
    versions: versions.filter(({ item_id, status }) => item_id === item.id && (status === 'approved' || mayChangeItem(actor, item))),
  }));
}

export async function usernames(em: EntityManager, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await em.execute<{ id: string; username: string }[]>('select id, username from user_account where id = any(?::uuid[])', [`{${[...new Set(ids)].join(',')}}`]);
  return new Map(rows.map(({ id, username }) => [id, username]));
}

/** With its content. 404 for one that the actor may not see. */
export async function getVersion(em: EntityManager, actor: Actor, item: MarketplaceItem, version: string): Promise<MarketplaceVersion> {
  const found = await em.findOne(MarketplaceVersion, { item_id: item.id, version }, { populate: ['content'] });
  if (found === null || (found.status !== 'approved' && !mayChangeItem(actor, item))) throw notFound('version');
  return found;
}

export async function versionsOf(em: EntityManager, item: MarketplaceItem): Promise<MarketplaceVersion[]> {
  return em.find(MarketplaceVersion, { item_id: item.id }, { orderBy: { submitted_at: 'asc', id: 'asc' } });
}

/**
 * Lets the item show the right version after a change of one: the highest approved one, else the one submitted last; its
 * texts become the item's. `withdrawn` stays until something is submitted again.
 */
export function showVersion(item: MarketplaceItem, versions: readonly MarketplaceVersion[], isWithdrawn = item.status === 'withdrawn'): void {
  const approved = versions.filter(({ status }) => status === 'approved').toSorted((a, b) => compareVersions(item, a.version, b.version));
  const shown = approved.at(-1) ?? versions.at(-1);
  if (shown === undefined) return;
  const status: ItemStatus = isWithdrawn ? 'withdrawn' : shown.status;
  const { version, digest, name, summary, description, license, categories, tags, requires } = shown;
  Object.assign(item, { status, version, digest, name, summary, description, license, categories, tags, requires, updated_at: new Date() });
  if (status === 'approved') item.published_at ??= item.updated_at;
}

/** Semantic versions of agents, numbers of revisions of workflows. */
function compareVersions(item: MarketplaceItem, a: string, b: string): number {
  return item.kind === 'agent' ? compareBuild(a, b) : Number(a) - Number(b);
}

/** Takes it out of the marketplace; copies that were installed stay. Harmless when repeated. */
export async function withdrawItem(em: EntityManager, actor: Actor, id: string): Promise<void> {
  const item = await lockItem(em, actor, id);
  if (!mayChangeItem(actor, item)) throw forbidden('Only its publisher and admins withdraw an item.');
  if (item.status === 'withdrawn') return;
  item.status = 'withdrawn';
  item.updated_at = new Date();
  await em.flush();
}
