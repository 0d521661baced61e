/** What a user may do with an item that they see. */
import type { MarketplaceItem } from '../../db/entities/marketplace-item.ts';
import { hasRole, isAdmin, type Actor } from '../auth/actor.ts';
import { hasRoleInSomeTeam } from '../auth/ownership.ts';
import { mayChangeItem, mayInstall } from './policy.ts';

export const ITEM_ACTIONS = ['install', 'review', 'approve', 'reject', 'withdraw'] as const;
export type ItemAction = (typeof ITEM_ACTIONS)[number];

export interface ItemStanding {
  item: Pick<MarketplaceItem, 'publisher_id' | 'status'>;
  /** Those that the actor may see. */
  versions: readonly { status: string }[];
  /** Whether the actor has installed it. */
  installed: boolean;
}

export function itemActions(actor: Actor, { item, versions, installed }: ItemStanding): ItemAction[] {
  const has = (status: string): boolean => versions.some((version) => version.status === status);
  const reviewed = isAdmin(actor) && item.status !== 'withdrawn';
  const may: Record<ItemAction, boolean> = {
    install: (hasRole(actor, 'builder') || hasRoleInSomeTeam(actor, 'builder')) && mayInstall(actor, item),
    review:
      hasRole(actor, 'viewer') && item.publisher_id !== actor.id && installed && item.status === 'approved',
    approve: reviewed && (has('submitted') || has('rejected')),
    reject: reviewed && (has('submitted') || has('approved')),
    withdraw: hasRole(actor, 'builder') && mayChangeItem(actor, item) && item.status !== 'withdrawn',
  };
  return ITEM_ACTIONS.filter((action) => may[action]);
}
