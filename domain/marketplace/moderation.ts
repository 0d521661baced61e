/**
 * An admin's review of a version. While one version of an item is approved, others may wait or be rejected
 * without affecting it.
 */
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
  /** Of the content that was read before the decision; absent: any. */
  digest?: string | null | undefined;
  /** Of what was read before the decision, RFC 3339; absent: any. */
  submitted_at?: string | null | undefined;
}

/** 409 for a withdrawn item. The caller has locked the row. */
export function checkNotWithdrawn(item: MarketplaceItem): void {
  if (item.status === 'withdrawn')
    throw conflict('item_withdrawn', 'The item was withdrawn by its publisher or an admin.');
}

/** submitted, rejected → approved. @throws 409 if the version has another digest than the given one */
export async function approveVersion(
  em: EntityManager,
  actor: Actor,
  item: MarketplaceItem,
  review: Review,
): Promise<void> {
  const versions = await versionsOf(em, item);
  const version = target(versions, review, ['submitted', 'rejected']);
  if (version.status === 'approved')
    throw conflict('already_approved', `Version ${version.version} is approved already.`);
  checkContent(version, review);
  await settle(em, actor, item, version, 'approved', review);
}

/**
 * submitted, approved → rejected. Rejecting an approved version takes it down; the item then shows the next
 * approved one, if any.
 * @throws 409 if the version has another digest than the given one
 */
export async function rejectVersion(
  em: EntityManager,
  actor: Actor,
  item: MarketplaceItem,
  review: Review,
): Promise<void> {
  const versions = await versionsOf(em, item);
  const version = target(versions, review, ['submitted', 'approved'], item.version);
  if (version.status === 'rejected')
    throw conflict('already_rejected', `Version ${version.version} is rejected already.`);
  checkContent(version, review);
  await settle(em, actor, item, version, 'rejected', review);
}

/** 409 if something else was reviewed. */
function checkContent({ version, digest, submitted_at: at }: MarketplaceVersion, review: Review): void {
  const { digest: seen = null, submitted_at: seenAt = null } = review;
  const isSame = seen === null || seen === digest;
  if (isSame && (seenAt === null || Date.parse(seenAt) === at.getTime())) return;
  throw conflict('content_changed', `Version ${version} was submitted again with other content.`, { digest });
}

/**
 * The version to review: the named one; else the one submitted last; else, among reviewed ones, the one shown
 * or the last.
 */
function target(
  versions: readonly MarketplaceVersion[],
  { version }: Review,
  from: readonly MarketplaceVersion['status'][],
  shown?: string,
): MarketplaceVersion {
  if (version !== undefined) {
    const named = versions.find((candidate) => candidate.version === version);
    if (named === undefined)
      throw invalid([
        {
          pointer: '/version',
          code: 'unknown_version',
          message: `the item has no version ${JSON.stringify(version)}`,
        },
      ]);
    return named;
  }
  for (const status of from) {
    const found = versions.filter((candidate) => candidate.status === status);
    const chosen =
      (status === 'approved' ? found.find(({ version: number }) => number === shown) : undefined) ??
      found.at(-1);
    // A rejected version is reviewed again only by name, or while no version is approved.
    const hasApproved = versions.some((candidate) => candidate.status === 'approved');
    if (chosen !== undefined && !(status === 'rejected' && hasApproved)) return chosen;
  }
  throw conflict('nothing_submitted', 'No version of the item waits for a review.');
}

async function settle(
  em: EntityManager,
  actor: Actor,
  item: MarketplaceItem,
  version: MarketplaceVersion,
  status: 'approved' | 'rejected',
  { reason }: Review,
): Promise<void> {
  Object.assign(version, { status, reason, reviewed_by: actor.id, reviewed_at: new Date() });
  await em.flush();
  showVersion(item, await versionsOf(em, item));
  await em.flush();
}
