import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

/** One installation; `ref_id` is the copy, which its owner may have deleted since. */
export const MarketplaceInstall = defineEntity({
  name: 'MarketplaceInstall',
  tableName: 'marketplace_install',
  properties: {
    id: p.uuid().primary(),
    item_id: p.uuid(),
    version: p.text(),
    digest: p.text(),
    user_id: p.uuid(),
    ref_id: p.uuid(),
    installed_at: p.datetime(3),
  },
});
export type MarketplaceInstall = InferEntity<typeof MarketplaceInstall>;
