/**
 * Converts items, versions, installations and reviews to JSON. Nothing else does. All texts are plain text
 * and are not rendered here.
 */
import * as z from 'zod';

import type { MarketplaceItem } from '../../../db/entities/marketplace-item.ts';
import type { MarketplaceVersion } from '../../../db/entities/marketplace-version.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { ITEM_ACTIONS, itemActions } from '../../../domain/marketplace/rights.ts';
import type { Installed } from '../../../domain/marketplace/install.ts';
import type { InstallPlan } from '../../../domain/marketplace/install-plan.ts';
import type { ItemState, VersionSummary } from '../../../domain/marketplace/items.ts';
import type { ListedItem } from '../../../domain/marketplace/lists.ts';
import type { AgentPlan } from '../../../domain/marketplace/required-agents.ts';
import type { ReviewState } from '../../../domain/marketplace/reviews.ts';
import { listedRecord, presentListed } from '../../listed.ts';
import { jsonObject, timestamp, userReference, uuid } from '../../schemas.ts';

const textOrNull = z.string().nullable();
const kind = z.enum(['agent', 'workflow']);

const requiredAgent = z
  .object({
    agent: z.string().meta({ description: 'As written in the definition.' }),
    agent_id: uuid,
    version: textOrNull,
  })
  .meta({ id: 'RequiredAgent' });

const requirements = z
  .object({
    secrets: z
      .array(z.string())
      .meta({ description: "Names that an installation binds to the installer's secrets." }),
    agents: z.array(requiredAgent),
  })
  .meta({ id: 'ItemRequirements' });

const versionSummary = z
  .object({
    version: z.string(),
    digest: z.string(),
    status: z.enum(['submitted', 'approved', 'rejected']),
    reason: textOrNull.meta({ description: 'Reason given in the last moderation.' }),
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
    ref_id: uuid.meta({
      description: 'The published agent or workflow. It may have been deleted or be private.',
    }),
    ...texts,
    publisher: userReference,
    version: z.string().meta({
      description:
        'The highest approved version, else the latest submitted one. For a workflow, its revision number.',
    }),
    versions: z.array(versionSummary).meta({
      description: 'Newest first. Only the publisher and admins see versions that are not approved.',
    }),
    digest: z
      .string()
      .meta({ description: "Hexadecimal SHA-256 of the version's content as canonical JSON (RFC 8785)." }),
    requires: requirements,
    rating: z.object({ average: z.number().nullable(), count: z.int() }),
    installs: z.int(),
    status: z.enum(['submitted', 'approved', 'rejected', 'withdrawn']),
    can: z
      .array(z.enum(ITEM_ACTIONS))
      .meta({ description: 'What the caller may do with the item. `review` means rating it.' }),
    created_at: timestamp,
    published_at: timestamp.nullable().meta({ description: 'Time of the first approval.' }),
    updated_at: timestamp,
  })
  .meta({ id: 'MarketplaceItem' });

export const submissionRecord = itemRecord
  .extend({
    included: z
      .array(
        z.object({
          agent: z.string(),
          item_id: uuid,
          version: z.string(),
          status: z.enum(['submitted', 'approved', 'rejected']),
        }),
      )
      .optional()
      .meta({
        description:
          'With `include_agents`: the items of the agents that the workflow uses, submitted now or earlier.',
      }),
  })
  .meta({ id: 'MarketplaceSubmission', variantOf: 'MarketplaceItem' });

export const itemVersionRecord = versionSummary
  .extend({
    item_id: uuid,
    ...texts,
    requires: requirements,
    content: jsonObject.meta({ description: 'The content that an installation copies.' }),
  })
  .meta({ id: 'MarketplaceVersion' });

export const reviewRecord = z
  .object({
    id: uuid,
    item_id: uuid,
    user: userReference,
    version: z.string().meta({ description: 'The version that the reviewer had installed.' }),
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
  ref_id: uuid.meta({ description: "The copy: the caller's own agent or workflow." }),
  name: z.string(),
  version: z.string(),
  digest: z.string(),
  installed_at: timestamp,
  missing: z
    .object({ secrets: z.array(z.string()), agents: z.array(requiredAgent), workflows: z.array(z.string()) })
    .meta({
      id: 'MissingParts',
      description:
        'What the copy still needs in order to work. To bind a secret later, publish a new version of ' +
        'the copy.',
    }),
};

export const installRecord = z
  .object({
    ...installation,
    agents: z.array(z.object(installation)).meta({ description: 'Agents installed with the workflow.' }),
  })
  .meta({ id: 'MarketplaceInstall' });

export const installPlanRecord = z
  .object({
    item_id: uuid,
    version: z.string(),
    digest: z.string(),
    copy: z
      .object({ ref_id: uuid, name: z.string() })
      .nullable()
      .meta({ description: "The caller's copy of this content, which a repeated installation returns." }),
    secrets: z.array(
      z.object({
        name: z.string().meta({ description: 'As `secrets` of the installation names it.' }),
        agent: textOrNull.meta({
          description: 'The agent that needs it and comes with the workflow; null for the item itself.',
        }),
      }),
    ),
    agents: z.array(
      requiredAgent.extend({
        use: z.enum(['existing', 'install', 'missing']).meta({
          description:
            'An agent that the caller may use already, one that is installed with the workflow, or none.',
        }),
        uses_id: uuid.nullable().meta({
          description: 'The agent that is used (`existing`), or the item that is installed (`install`).',
        }),
      }),
    ),
  })
  .meta({ id: 'MarketplaceInstallPlan' });

/** An item in a list. */
export const listedItem = listedRecord(
  itemRecord,
  { summary: true, description: true, categories: true, tags: true, requires: true },
  { id: 'ListedMarketplaceItem', variantOf: 'MarketplaceItem' },
);

export function presentItem(actor: Actor, state: ItemState): z.input<typeof itemRecord> {
  const { item } = state;
  return { ...presentSummaryFields(actor, state), ...presentTexts(item), requires: item.requires };
}

export function presentListedItem(actor: Actor, state: ListedItem): Record<string, unknown> {
  const { item } = state;
  const { name, summary, description, license, categories, tags, requires, omitted } = item;
  const small = presentSummaryFields(actor, state);
  return presentListed<typeof itemRecord>(
    { ...small, name, summary, description, license: license ?? null, categories, tags, requires },
    omitted,
  );
}

function presentSummaryFields(actor: Actor, state: ItemState | ListedItem) {
  const { item, publisher, versions } = state;
  const { id, kind: itemKind, status, ref_id, version, digest, installs } = item;
  return {
    id,
    kind: itemKind,
    ref_id,
    publisher,
    version,
    versions: versions.map(presentSummary),
    digest,
    rating: { average: item.rating_count === 0 ? null : item.rating, count: item.rating_count },
    installs,
    status,
    can: itemActions(actor, state),
    created_at: new Date(item.created_at).toISOString(),
    published_at: item.published_at ? new Date(item.published_at).toISOString() : null,
    updated_at: new Date(item.updated_at).toISOString(),
  };
}

export function presentVersion(version: MarketplaceVersion): z.input<typeof itemVersionRecord> {
  // `content` is a lazy property, which routes that show a single version load.
  const content = version.content as unknown as Record<string, unknown>;
  return {
    ...presentSummary(version),
    item_id: version.item_id,
    ...presentTexts(version),
    requires: version.requires,
    content,
  };
}

export function presentPlan(
  { id }: MarketplaceItem,
  { version, digest, copy, secrets, agents }: InstallPlan,
): z.input<typeof installPlanRecord> {
  return { item_id: id, version, digest, copy, secrets, agents: agents.map(presentAgentPlan) };
}

function presentAgentPlan(plan: AgentPlan) {
  const { agent, agent_id, version } = plan.required;
  const required = { agent, agent_id, version };
  switch (plan.use) {
    case 'existing':
      return { ...required, use: 'existing' as const, uses_id: plan.agent_id };
    case 'item':
      return { ...required, use: 'install' as const, uses_id: plan.item.id };
    case 'missing':
      return { ...required, use: 'missing' as const, uses_id: null };
  }
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
  return {
    id,
    item_id: item.id,
    kind: item.kind,
    ref_id,
    name,
    version,
    digest,
    installed_at: installed_at.toISOString(),
    missing,
  };
}

function presentSummary({
  version,
  digest,
  status,
  reason,
  submitted_at,
  reviewed_at,
}: VersionSummary): z.input<typeof versionSummary> {
  return {
    version,
    digest,
    status,
    reason: reason ?? null,
    submitted_at: submitted_at.toISOString(),
    reviewed_at: reviewed_at?.toISOString() ?? null,
  };
}

type Texts = Pick<MarketplaceVersion, 'name' | 'summary' | 'description' | 'license' | 'categories' | 'tags'>;

function presentTexts({ name, summary, description, license, categories, tags }: Texts) {
  return {
    name,
    summary: summary ?? null,
    description: description ?? null,
    license: license ?? null,
    categories,
    tags,
  };
}
