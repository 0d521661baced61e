/** Ratings by users who installed an item: one per user; a later one replaces it. */
import { v7 as uuidv7 } from 'uuid';

import { MarketplaceInstall } from '../../db/entities/marketplace-install.ts';
import type { MarketplaceItem } from '../../db/entities/marketplace-item.ts';
import { MarketplaceReview } from '../../db/entities/marketplace-review.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { KeysetPage } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict, forbidden } from '../errors.ts';
import { usernames } from './items.ts';

export interface ReviewState {
  review: MarketplaceReview;
  username: string;
}

/**
 * @throws 403 for the actor's own item and for users who never installed it, 409 unless the item is approved.
 * The caller has locked the row
 */
export async function checkReviewer(
  em: EntityManager,
  actor: Actor,
  item: MarketplaceItem,
): Promise<MarketplaceInstall> {
  if (item.publisher_id === actor.id) throw forbidden('You cannot review your own item.', 'own_item');
  const [install] = await em.find(
    MarketplaceInstall,
    { item_id: item.id, user_id: actor.id },
    { orderBy: { id: 'desc' }, limit: 1 },
  );
  if (install === undefined) throw forbidden('Install the item before you review it.', 'not_installed');
  if (item.status !== 'approved')
    throw conflict('not_approved', `The item is ${item.status}: it cannot be reviewed now.`);
  return install;
}

/** @returns the review, and whether it is new */
export async function putReview(
  em: EntityManager,
  actor: Actor,
  item: MarketplaceItem,
  install: MarketplaceInstall,
  given: { rating: number; text: string | null },
): Promise<ReviewState & { created: boolean }> {
  const now = new Date();
  const before = await em.findOne(MarketplaceReview, { item_id: item.id, user_id: actor.id });
  item.rating_sum += given.rating - (before?.rating ?? 0);
  item.rating_count += before === null ? 1 : 0;
  const review =
    before ??
    em.create(MarketplaceReview, {
      ...given,
      id: uuidv7(),
      item_id: item.id,
      user_id: actor.id,
      version: install.version,
      created_at: now,
      updated_at: now,
    });
  Object.assign(review, given, { version: install.version, updated_at: now });
  em.persist(review);
  await em.flush();
  return { review, username: actor.username, created: before === null };
}

/** Newest first. @param userId of the reviewer; default: reviews of all users */
export async function listReviews(
  em: EntityManager,
  item: MarketplaceItem,
  userId: string | undefined,
  page: KeysetPage,
): Promise<ReviewState[]> {
  const reviews = await em.find(
    MarketplaceReview,
    {
      item_id: item.id,
      ...(userId === undefined ? {} : { user_id: userId }),
      ...(page.after === undefined ? {} : { id: { $lt: page.after } }),
    },
    { orderBy: { id: 'desc' }, limit: page.limit },
  );
  const names = await usernames(
    em,
    reviews.map(({ user_id }) => user_id),
  );
  return reviews.map((review) => ({ review, username: names.get(review.user_id) ?? '' }));
}
