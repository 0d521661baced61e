/** The only way from an item, a version, an installation or a review to JSON. All texts are text: nobody renders them here. */
import * as z from 'zod';

import type { MarketplaceVersion } from '../../../db/entities/marketplace-version.ts';
import type { Installed } from '../../../domain/marketplace/install.ts';
import type { ItemState } from '../../../domain/marketplace/items.ts';
import type { ReviewState } from '../../../domain/marketplace/reviews.ts';
import { jsonObject, timestamp, uuid } from '../../schemas.ts';

const textOrNull = z.string().nullable();
const kind = z.enum(['agent', 'workflow']);

const requiredAgent = z
  .object({ agent: z.string().meta({ description: 'As the definition writes it.' }), agent_id: uuid, version: textOrNull })
  .meta({ id: 'RequiredAgent' });

const requirements = z
  .object({ secrets: z.array(z.string()).meta({ description: 'Names that an installation binds to own secrets.' }), agents: z.array(requiredAgent) })
  .meta({ id: 'ItemRequirements' });

const versionSummary = z
  .object({
    version: z.string(),
    digest: z.string(),
    status: z.enum(['submitted', 'approved', 'rejected']),
    reason: textOrNull.meta({ description: 'Of the last review.' }),
    submitted_at: timestamp,
    reviewed_at: timestamp.nullable(),
  })
  .meta({ id: 'ItemVersionSummary' });

const texts = {
  name: z.string(),
  summary: textOrNull,
  description: textOrNull,
  license: textOrNull,
  categories: z.array(z.string()),
  tags: z.array(z.string()),
};

export const itemRecord = z
  .object({
    id: uuid,
    kind,
    ref_id: uuid.meta({ description: 'What was published; it may be gone, and is its owner\'s to show.' }),
    ...texts,
    publisher: z.object({ id: uuid, username: z.string() }),
    version: z.string().meta({ description: 'The highest approved version, else the one submitted last; for a workflow the number of its revision.' }),
    versions: z.array(versionSummary).meta({ description: 'Newest first. Others than the publisher and admins see approved ones.' }),
    digest: z.string().meta({ description: 'SHA-256, hexadecimal, of the version\'s content as canonical JSON (RFC 8785).' }),
    requires: requirements,
    rating: z.object({ average: z.number().nullable(), count: z.int() }),
    installs: z.int(),
    status: z.enum(['submitted', 'approved', 'rejected', 'withdrawn']),
    created_at: timestamp,
    published_at: timestamp.nullable().meta({ description: 'Of the first approval.' }),
    updated_at: timestamp,
  })
  .meta({ id: 'MarketplaceItem' });

export const itemVersionRecord = versionSummary.extend({ item_id: uuid, ...texts, requires: requirements, content: jsonObject.meta({ description: 'What an installation copies.' }) }).meta({ id: 'MarketplaceVersion' });

export const reviewRecord = z
  .object({
    id: uuid,
    item_id: uuid,
    user: z.object({ id: uuid, username: z.string() }),
    version: z.string().meta({ description: 'The one that its author had installed.' }),
    rating: z.int().min(1).max(5),
    text: textOrNull,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'MarketplaceReview' });

const installation = {
  id: uuid,
  item_id: uuid,
  kind,
  ref_id: uuid.meta({ description: 'The copy: an agent or a workflow of the caller.' }),
  name: z.string(),
  version: z.string(),
  digest: z.string(),
  installed_at: timestamp,
  missing: z
    .object({ secrets: z.array(z.string()), agents: z.array(requiredAgent), workflows: z.array(z.string()) })
    .meta({ description: 'What the copy does not work without. An unbound secret is bound later in a new draft of the copy.' }),
};

export const installRecord = z
  .object({ ...installation, agents: z.array(z.object(installation)).meta({ description: 'Agents that were installed with the workflow.' }) })
  .meta({ id: 'MarketplaceInstall' });

export function presentItem({ item, publisher, versions }: ItemState): z.input<typeof itemRecord> {
  const { id, status, ref_id, version, digest, requires, installs } = item;
  return {
    id,
    kind: item.kind,
    ref_id,
    ...presentTexts(item),
    publisher,
    version,
    versions: versions.map(presentSummary),
    digest,
    requires,
    rating: { average: item.rating_count === 0 ? null : item.rating, count: item.rating_count },
    installs,
    status,
    created_at: item.created_at.toISOString(),
    published_at: item.published_at?.toISOString() ?? null,
    updated_at: item.updated_at.toISOString(),
  };
}

export function presentVersion(version: MarketplaceVersion): z.input<typeof itemVersionRecord> {
  // Loaded by whoever shows one version.
  const content = version.content as unknown as Record<string, unknown>;
  return { ...presentSummary(version), item_id: version.item_id, ...presentTexts(version), requires: version.requires, content };
}

export function presentReview({ review, username }: ReviewState): z.input<typeof reviewRecord> {
  const { id, item_id, version, rating } = review;
  return {
    id,
    item_id,
    user: { id: review.user_id, username },
    version,
    rating,
    text: review.text ?? null,
    created_at: review.created_at.toISOString(),
    updated_at: review.updated_at.toISOString(),
  };
}

export function presentInstall(installed: Installed): z.input<typeof installRecord> {
  return { ...presentCopy(installed), agents: installed.agents.map(presentCopy) };
}

function presentCopy({ id, item, ref_id, name, version, digest, installed_at, missing }: Installed) {
  return { id, item_id: item.id, kind: item.kind, ref_id, name, version, digest, installed_at: installed_at.toISOString(), missing };
}

function presentSummary({ version, digest, status, reason, submitted_at, reviewed_at }: MarketplaceVersion): z.input<typeof versionSummary> {
  return { version, digest, status, reason: reason ?? null, submitted_at: submitted_at.toISOString(), reviewed_at: reviewed_at?.toISOString() ?? null };
}

type Texts = Pick<MarketplaceVersion, 'name' | 'summary' | 'description' | 'license' | 'categories' | 'tags'>;

function presentTexts({ name, summary, description, license, categories, tags }: Texts) {
  return { name, summary: summary ?? null, description: description ?? null, license: license ?? null, categories, tags };
}
