/** Publishing: a snapshot becomes a version of an item and waits for an admin's review. */
import { v7 as uuidv7 } from 'uuid';

import { MarketplaceItem, type ItemKind, type RequiredAgent } from '../../db/entities/marketplace-item.ts';
import { MarketplaceVersion } from '../../db/entities/marketplace-version.ts';
import { LockMode, type EntityManager } from '../../db/orm.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { hasTeamRole } from '../auth/ownership.ts';
import { conflict, forbidden } from '../errors.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { readSecrets } from '../secrets/service.ts';
import { contentDigest } from './content.ts';
import { showVersion, versionsOf } from './items.ts';
import { literalsIn, ownSecrets, type OwnSecret } from './literals.ts';
import { refuseLiterals, snapshotAgent, snapshotWorkflow, type Snapshot } from './snapshot.ts';

/**
 * Texts that are not given default to those of the version submitted before, else to the agent's or
 * workflow's own.
 */
export interface Submission {
  kind: ItemKind;
  ref_id: string;
  version: string;
  name?: string | undefined;
  summary?: string | null | undefined;
  description?: string | null | undefined;
  license?: string | null | undefined;
  categories?: string[] | null | undefined;
  tags?: string[] | null | undefined;
}

/**
 * What must not be in the item: the actor's secrets, and those of the team that owns what is published. Of a
 * team in which the actor may not
 * publish, a refusal would tell what its secrets are.
 */
async function secretsFor(
  em: EntityManager,
  encryption: Encryption,
  actor: Actor,
  { kind, ref_id }: Submission,
): Promise<OwnSecret[]> {
  const [object] = await em.execute<{ team_id: string | null }[]>(
    `select team_id from ${kind === 'agent' ? 'agent' : 'workflow'} where id = ?`,
    [ref_id],
  );
  const team = object?.team_id ?? null;
  const mayPublish = team !== null && (isAdmin(actor) || hasTeamRole(actor, team, 'builder'));
  const holders = mayPublish ? [actor.id, team] : [actor.id];
  const secrets = await Promise.all(holders.map((holder) => readSecrets(em, encryption, holder)));
  return ownSecrets(secrets.flat());
}

/**
 * Rejected versions, and all versions of a withdrawn item, may be submitted again. @param keeps any other
 * stays as it is; else it is a 409
 */
export async function submitItem(
  em: EntityManager,
  encryption: Encryption,
  actor: Actor,
  given: Submission,
  { keeps = false } = {},
): Promise<MarketplaceItem> {
  const own = await secretsFor(em, encryption, actor, given);
  const { name, summary, description, categories, tags, license } = given;
  refuseLiterals(
    literalsIn({ name, summary, description, categories, tags, license }, own, { byKey: false }),
    'remove it',
  );
  const snapshot = await (given.kind === 'agent' ? snapshotAgent : snapshotWorkflow)(em, actor, own, given);

  const item = await itemOf(em, actor, given, snapshot);
  const versions = await versionsOf(em, item);
  const same = versions.find(({ version }) => version === given.version);
  if (same !== undefined && same.status !== 'rejected' && item.status !== 'withdrawn') {
    if (keeps) return item;
    throw conflict('version_exists', `Version ${given.version} is ${same.status} already.`, {
      item_id: item.id,
    });
  }
  const before = versions.at(-1) ?? null;
  const fields = {
    digest: contentDigest(snapshot.content),
    content: snapshot.content,
    requires: snapshot.requires,
    ...texts(given, before, snapshot.defaults),
    status: 'submitted' as const,
    reason: null,
    reviewed_by: null,
    reviewed_at: null,
    submitted_at: new Date(),
  };
  if (same === undefined)
    em.persist(
      em.create(MarketplaceVersion, { ...fields, id: uuidv7(), item_id: item.id, version: given.version }),
    );
  else Object.assign(same, fields);
  await em.flush();
  showVersion(item, await versionsOf(em, item), false);
  await em.flush();
  return item;
}

/** The agents that a version of an item requires. */
export async function requiredBy(
  em: EntityManager,
  item: MarketplaceItem,
  version: string,
): Promise<RequiredAgent[]> {
  return (await em.findOneOrFail(MarketplaceVersion, { item_id: item.id, version })).requires.agents;
}

/** The locked item of an agent or workflow; created if it does not exist. */
async function itemOf(
  em: EntityManager,
  actor: Actor,
  given: Submission,
  { content, requires, defaults }: Snapshot,
): Promise<MarketplaceItem> {
  const { name, description, license, tags } = defaults;
  await em.execute(
    `insert into marketplace_item (id, kind, ref_id, publisher_id, status, version, digest, name,
            description, license, categories, tags, requires, created_at, updated_at)
     values (?, ?, ?, ?, 'submitted', ?, ?, ?, ?, ?, '{}', array(select json_array_elements_text(?::json)),
             ?::jsonb, clock_timestamp(), clock_timestamp())
     on conflict (kind, ref_id) do nothing`,
    [
      uuidv7(),
      given.kind,
      given.ref_id,
      actor.id,
      given.version,
      contentDigest(content),
      name,
      description,
      license,
      JSON.stringify(tags),
      JSON.stringify(requires),
    ],
  );
  const item = await em.findOneOrFail(
    MarketplaceItem,
    { kind: given.kind, ref_id: given.ref_id },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  if (item.publisher_id !== actor.id) throw forbidden('This item has another publisher.');
  return item;
}

type Texts = Pick<MarketplaceVersion, 'name' | 'summary' | 'description' | 'license' | 'categories' | 'tags'>;

function texts(given: Submission, before: MarketplaceVersion | null, defaults: Snapshot['defaults']): Texts {
  const choose = <K extends 'summary' | 'description' | 'license'>(
    key: K,
    otherwise: string | null,
  ): string | null =>
    given[key] === undefined ? (before === null ? otherwise : (before[key] ?? null)) : (given[key] ?? null);
  return {
    name: given.name ?? before?.name ?? defaults.name,
    summary: choose('summary', null),
    description: choose('description', defaults.description),
    license: choose('license', defaults.license),
    categories: given.categories === undefined ? (before?.categories ?? []) : (given.categories ?? []),
    tags: given.tags === undefined ? (before?.tags ?? defaults.tags) : (given.tags ?? []),
  };
}
