import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

import type { Requirements } from './marketplace-item.ts';

/** A submitted snapshot. The item takes its texts while it shows this version. */
export const MarketplaceVersion = defineEntity({
  name: 'MarketplaceVersion',
  tableName: 'marketplace_version',
  properties: {
    id: p.uuid().primary(),
    item_id: p.uuid(),
    version: p.text(),
    /** SHA-256 of `content` as canonical JSON, hexadecimal. */
    digest: p.text(),
    content: p.json<Record<string, unknown>>().columnType('json').lazy(),
    requires: p.json<Requirements>(),
    name: p.text(),
    summary: p.text().nullable(),
    description: p.text().nullable(),
    license: p.text().nullable(),
    categories: p.array(),
    tags: p.array(),
    status: p.text().$type<'submitted' | 'approved' | 'rejected'>(),
    /** Reason given in the last review. */
    reason: p.text().nullable(),
    reviewed_by: p.uuid().nullable(),
    reviewed_at: p.datetime(3).nullable(),
    submitted_at: p.datetime(3),
  },
});
export type MarketplaceVersion = InferEntity<typeof MarketplaceVersion>;
