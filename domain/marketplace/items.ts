/**
 * Items: reading and withdrawing them, and the version that an item shows. `em` is in the caller's
 * transaction.
 */
import { compareBuild } from 'semver';

import { MarketplaceItem, type ItemStatus } from '../../db/entities/marketplace-item.ts';
import { MarketplaceVersion } from '../../db/entities/marketplace-version.ts';
import { LockMode, type EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import { forbidden, notFound } from '../errors.ts';
import { mayChangeItem, maySeeItem } from './policy.ts';

/** An item with the data of its record. `versions`: those that the reader may see, newest first. */
export interface ItemState {
  item: MarketplaceItem;
  publisher: { id: string; username: string };
  versions: VersionSummary[];
  /** Whether the reader has installed it. */
  installed: boolean;
}

const SUMMARY = ['item_id', 'version', 'digest', 'status', 'reason', 'submitted_at', 'reviewed_at'] as const;
/** Without content and texts, because an item can have many versions. */
export type VersionSummary = Pick<MarketplaceVersion, (typeof SUMMARY)[number]>;

/** Why no version of a withdrawn item is approved any more. */
const BY_AN_ADMIN = 'An administrator has withdrawn the item.';

/** 404 for an item that does not exist or that the actor may not see. */
export async function getItem(em: EntityManager, actor: Actor, id: string): Promise<MarketplaceItem> {
  const item = await em.findOne(MarketplaceItem, { id });
  if (item === null || !maySeeItem(actor, item)) throw notFound('item');
  return item;
}

/** Locks the row until the end of the transaction; 404 as for `getItem`. */
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

/** Readers other than the publisher and admins see approved versions only. */
export async function statesOf<Item extends Pick<MarketplaceItem, 'id' | 'publisher_id' | 'status'>>(
  em: EntityManager,
  actor: Actor,
  items: readonly Item[],
): Promise<(Omit<ItemState, 'item'> & { item: Item })[]> {
  if (items.length === 0) return [];
  const versions = await em.find(
    MarketplaceVersion,
    { item_id: { $in: items.map(({ id }) => id) } },
    { fields: SUMMARY, orderBy: { submitted_at: 'desc', id: 'desc' } },
  );
  const publishers = await usernames(
    em,
    items.map(({ publisher_id }) => publisher_id),
  );
  const installed = await installedBy(em, actor, items);
  return items.map((item) => ({
    installed: installed.has(item.id),
    item,
    publisher: { id: item.publisher_id, username: publishers.get(item.publisher_id) ?? '' },
    versions: versions.filter(
      ({ item_id, status }) => item_id === item.id && (status === 'approved' || mayChangeItem(actor, item)),
    ),
  }));
}

async function installedBy(
  em: EntityManager,
  actor: Actor,
  items: readonly Pick<MarketplaceItem, 'id'>[],
): Promise<Set<string>> {
  const rows = await em.execute<{ item_id: string }[]>(
    'select distinct item_id from marketplace_install where user_id = ? and item_id = any(?::uuid[])',
    [actor.id, arrayLiteral(items.map(({ id }) => id))],
  );
  return new Set(rows.map(({ item_id }) => item_id));
}

export async function usernames(em: EntityManager, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await em.execute<{ id: string; username: string }[]>(
    'select id, username from user_account where id = any(?::uuid[])',
    [arrayLiteral(new Set(ids))],
  );
  return new Map(rows.map(({ id, username }) => [id, username]));
}

/** With its content; 404 for a version that the actor may not see. */
export async function getVersion(
  em: EntityManager,
  actor: Actor,
  item: MarketplaceItem,
  version: string,
): Promise<MarketplaceVersion> {
  const found = await em.findOne(
    MarketplaceVersion,
    { item_id: item.id, version },
    { populate: ['content'] },
  );
  if (found === null || (found.status !== 'approved' && !mayChangeItem(actor, item)))
    throw notFound('version');
  return found;
}

export async function versionsOf(em: EntityManager, item: MarketplaceItem): Promise<MarketplaceVersion[]> {
  return em.find(MarketplaceVersion, { item_id: item.id }, { orderBy: { submitted_at: 'asc', id: 'asc' } });
}

/**
 * Updates which version the item shows: the highest approved one, else the one submitted last. The item takes
 * its texts. A withdrawn item stays so until something is submitted again.
 */
export function showVersion(
  item: MarketplaceItem,
  versions: readonly MarketplaceVersion[],
  isWithdrawn = item.status === 'withdrawn',
): void {
  const approved = versions
    .filter(({ status }) => status === 'approved')
    .toSorted((a, b) => compareVersions(item, a.version, b.version));
  const shown = approved.at(-1) ?? versions.at(-1);
  if (shown === undefined) return;
  const status: ItemStatus = isWithdrawn ? 'withdrawn' : shown.status;
  const { version, digest, name, summary, description, license, categories, tags, requires } = shown;
  const waiting = !isWithdrawn && versions.some((one) => one.status === 'submitted');
  Object.assign(item, {
    status,
    waiting,
    version,
    digest,
    name,
    summary,
    description,
    license,
    categories,
    tags,
    requires,
    updated_at: new Date(),
  });
  if (status === 'approved') item.published_at ??= item.updated_at;
}

/** By semantic version for agents, by revision number for workflows. */
function compareVersions(item: MarketplaceItem, a: string, b: string): number {
  return item.kind === 'agent' ? compareBuild(a, b) : Number(a) - Number(b);
}

/**
 * Removes an item from the marketplace; installed copies stay. Idempotent. After an admin has done it, also
 * to an item that its publisher had withdrawn, each of its versions is reviewed again before it is shown.
 */
export async function withdrawItem(em: EntityManager, actor: Actor, id: string): Promise<void> {
  const item = await lockItem(em, actor, id);
  if (!mayChangeItem(actor, item)) throw forbidden('Only its publisher and admins may withdraw an item.');
  if (item.publisher_id !== actor.id)
    await em.nativeUpdate(
      MarketplaceVersion,
      { item_id: id, status: 'approved' },
      { status: 'rejected', reason: BY_AN_ADMIN, reviewed_by: actor.id, reviewed_at: new Date() },
    );
  if (item.status === 'withdrawn') return;
  item.status = 'withdrawn';
  item.waiting = false;
  item.updated_at = new Date();
  await em.flush();
}
