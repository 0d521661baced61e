/** Who sees and does what in the marketplace: deny by default (interface-decisions §7). */
import type { MarketplaceItem } from '../../db/entities/marketplace-item.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';

type Standing = Pick<MarketplaceItem, 'publisher_id' | 'status'>;

/** Approved items are everybody's; all others are seen by who published them and by admins. */
export function maySeeItem(actor: Actor, item: Standing): boolean {
  return item.status === 'approved' || mayChangeItem(actor, item);
}

/** Withdraw it, and see all of its versions. */
export function mayChangeItem(actor: Actor, item: Standing): boolean {
  return item.publisher_id === actor.id || isAdmin(actor);
}

/** Only what was approved is installed; publishers may try their own before that. */
export function mayInstall(actor: Actor, item: Standing): boolean {
  return item.status === 'approved' || item.publisher_id === actor.id;
}
