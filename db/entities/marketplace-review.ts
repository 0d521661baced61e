import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

/** One user's rating of an item; `version` is the one that they had installed last when they wrote it. */
export const MarketplaceReview = defineEntity({
  name: 'MarketplaceReview',
  tableName: 'marketplace_review',
  properties: {
    id: p.uuid().primary(),
    item_id: p.uuid(),
    user_id: p.uuid(),
    version: p.text(),
    rating: p.integer(),
    text: p.text().nullable(),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
  },
});
export type MarketplaceReview = InferEntity<typeof MarketplaceReview>;
