/** Permissions in the marketplace: deny by default (docs/interface.md#marketplace). */
import type { MarketplaceItem } from '../../db/entities/marketplace-item.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';

type Standing = Pick<MarketplaceItem, 'publisher_id' | 'status'>;

/** Everyone sees approved items; other items are visible to their publisher and admins. */
export function maySeeItem(actor: Actor, item: Standing): boolean {
  return item.status === 'approved' || mayChangeItem(actor, item);
}

/** Whether the actor may withdraw it and see all of its versions. */
export function mayChangeItem(actor: Actor, item: Standing): boolean {
  return item.publisher_id === actor.id || isAdmin(actor);
}

/** Approved items may be installed by anyone; publishers may install their own before approval. */
export function mayInstall(actor: Actor, item: Standing): boolean {
  return item.status === 'approved' || item.publisher_id === actor.id;
}
