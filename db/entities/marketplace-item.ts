import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

export type ItemKind = 'agent' | 'workflow';
export type ItemStatus = 'submitted' | 'approved' | 'rejected' | 'withdrawn';

export interface RequiredAgent {
  /** As the definition writes it: a name or an id. */
  agent: string;
  agent_id: string;
  /** Semantic version or range; null for the current version. */
  version: string | null;
}

/** What an installed copy needs from its new owner. Secrets are listed by name. */
export interface Requirements {
  secrets: string[];
  agents: RequiredAgent[];
}

/** The origin of a copy in a registry, as of its installation. */
export interface Provenance {
  item_id: string;
  version: string;
  digest: string;
  publisher: { id: string; username: string };
  installed_at: string;
}

/** An item with the texts of the version that it shows. */
export const MarketplaceItem = defineEntity({
  name: 'MarketplaceItem',
  tableName: 'marketplace_item',
  properties: {
    id: p.uuid().primary(),
    kind: p.text().$type<ItemKind>(),
    /** The published agent or workflow, which may have been deleted. */
    ref_id: p.uuid(),
    publisher_id: p.uuid(),
    status: p.text().$type<ItemStatus>(),
    /** Whether one of its versions is submitted, and the item is not withdrawn. */
    waiting: p.boolean(),
    version: p.text(),
    digest: p.text(),
    name: p.text(),
    summary: p.text().nullable(),
    description: p.text().nullable(),
    license: p.text().nullable(),
    categories: p.array(),
    tags: p.array(),
    requires: p.json<Requirements>(),
    installs: p.integer(),
    rating_sum: p.integer(),
    rating_count: p.integer(),
    /** Average to two digits; 0 without reviews. */
    rating: p.double().$type<number>().generated(''),
    created_at: p.datetime(3),
    /** Time of the first approval. */
    published_at: p.datetime(3).nullable(),
    listed_at: p.datetime(3).generated(''),
    updated_at: p.datetime(3),
  },
});
export type MarketplaceItem = InferEntity<typeof MarketplaceItem>;
