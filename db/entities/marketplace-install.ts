import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

/** One installation, of a user or for a team; `ref_id` is the copy, which may have been deleted since. */
export const MarketplaceInstall = defineEntity({
  name: 'MarketplaceInstall',
  tableName: 'marketplace_install',
  properties: {
    id: p.uuid().primary(),
    item_id: p.uuid(),
    version: p.text(),
    digest: p.text(),
    user_id: p.uuid(),
    team_id: p.uuid().nullable(),
    ref_id: p.uuid(),
    installed_at: p.datetime(3),
  },
});
export type MarketplaceInstall = InferEntity<typeof MarketplaceInstall>;
