/** An admin's word on a version. Of an item with an approved version, another one may wait or be rejected: the approved one stays. */
import type { MarketplaceItem } from '../../db/entities/marketplace-item.ts';
import type { MarketplaceVersion } from '../../db/entities/marketplace-version.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict, invalid } from '../errors.ts';
import { showVersion, versionsOf } from './items.ts';

export interface Review {
  /** Default: see `target`. */
  version?: string | undefined;
  reason: string | null;
}

/** 409 for what was withdrawn. The row is locked. */
export function checkNotWithdrawn(item: MarketplaceItem): void {
  if (item.status === 'withdrawn') throw conflict('item_withdrawn', 'The item was withdrawn by its publisher or an admin.');
}

/** submitted, rejected → approved. */
export async function approveVersion(em: EntityManager, actor: Actor, item: MarketplaceItem, review: Review): Promise<void> {
  const versions = await versionsOf(em, item);
  const version = target(versions, review, ['submitted', 'rejected']);
  if (version.status === 'approved') throw conflict('already_approved', `Version ${version.version} is approved already.`);
  await settle(em, actor, item, version, 'approved', review);
}

/** submitted, approved → rejected. An approved one is taken down: the item shows the next approved one, if there is one. */
export async function rejectVersion(em: EntityManager, actor: Actor, item: MarketplaceItem, review: Review): Promise<void> {
  const versions = await versionsOf(em, item);
  const version = target(versions, review, ['submitted', 'approved'], item.version);
  if (version.status === 'rejected') throw conflict('already_rejected', `Version ${version.version} is rejected already.`);
  await settle(em, actor, item, version, 'rejected', review);
}

/** The named one; else the one that was submitted last; else, of those that were settled, the shown one or the last. */
function target(versions: readonly MarketplaceVersion[], { version }: Review, from: readonly MarketplaceVersion['status'][], shown?: string): MarketplaceVersion {
  if (version !== undefined) {
    const named = versions.find((one) => one.version === version);
    if (named === undefined) throw invalid([{ pointer: '/version', code: 'unknown_version', message: `the item has no version ${JSON.stringify(version)}` }]);
    return named;
  }
  for (const status of from) {
    const found = versions.filter((one) => one.status === status);
    const chosen = (status === 'approved' ? found.find((one) => one.version === shown) : undefined) ?? found.at(-1);
    // What was rejected is taken up again only where nothing is approved, or by name.
    if (chosen !== undefined && !(status === 'rejected' && versions.some((one) => one.status === 'approved'))) return chosen;
  }
  throw conflict('nothing_submitted', 'No version of the item waits for a review.');
}

async function settle(em: EntityManager, actor: Actor, item: MarketplaceItem, version: MarketplaceVersion, status: 'approved' | 'rejected', { reason }: Review): Promise<void> {
  Object.assign(version, { status, reason, reviewed_by: actor.id, reviewed_at: new Date() });
  await em.flush();
  showVersion(item, await versionsOf(em, item));
  await em.flush();
}
