/**
 * Versions of an agent: draft → published → deprecated. Only drafts can change
 * (docs/interface.md#versions-of-an-agent).
 */
import { isDeepStrictEqual } from 'node:util';
import { compareBuild } from 'semver';
import { v7 as uuidv7 } from 'uuid';

import { jsonSchemaProblems } from '../../language/schema/well-formed.ts';
import { AgentVersion } from '../../db/entities/agent-version.ts';
import { listedColumns, type ListView } from '../../db/large-fields.ts';
import type { Agent } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { KeysetPage } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict, invalid, notFound } from '../errors.ts';

type JsonObject = Record<string, unknown>;

/** The content of a version. Unset fields are null on the agent and `{}` on a version. */
export interface VersionContent {
  configuration: JsonObject | null;
  input_schema: JsonObject | null;
  output_schema: JsonObject | null;
}

export function contentOf(from: {
  [Key in keyof VersionContent]?: VersionContent[Key] | undefined;
}): VersionContent {
  return {
    configuration: from.configuration ?? null,
    input_schema: from.input_schema ?? null,
    output_schema: from.output_schema ?? null,
  };
}

/** @throws 422 with every problem of both schemas, at pointers into the record */
export function checkSchemas(content: Partial<VersionContent>): void {
  const errors = (['input_schema', 'output_schema'] as const).flatMap((key) =>
    jsonSchemaProblems(content[key] ?? {})
      .filter(({ severity }) => severity === 'error')
      .map(({ pointer, message }) => ({ pointer: `/${key}${pointer}`, code: 'json_schema', message })),
  );
  if (errors.length > 0) throw invalid(errors);
}

export function sameContent(a: VersionContent, b: VersionContent): boolean {
  return isDeepStrictEqual(plain(a), plain(b));
}

/** Plain JSON for comparison: values from the database and from requests have different prototypes. */
function plain(content: VersionContent): unknown {
  return JSON.parse(
    JSON.stringify(
      [content.configuration, content.input_schema, content.output_schema].map((part) => part ?? {}),
    ),
  );
}

export async function addDraft(
  em: EntityManager,
  actor: Actor,
  agent: Agent,
  version: string,
  content: VersionContent,
  changelog: string | null,
): Promise<AgentVersion> {
  checkSchemas(content);
  const draft = em.create(AgentVersion, {
    id: uuidv7(),
    agent_id: agent.id,
    version,
    configuration: content.configuration ?? {},
    input_schema: content.input_schema ?? {},
    output_schema: content.output_schema ?? {},
    status: 'draft',
    changelog,
    created_by: actor.id,
    created_at: new Date(),
  });
  em.persist(draft);
  await em.flush();
  return draft;
}

export async function findVersion(
  em: EntityManager,
  agent: Agent,
  version: string,
): Promise<AgentVersion | null> {
  return em.findOne(AgentVersion, { agent_id: agent.id, version });
}

export async function getVersion(em: EntityManager, agent: Agent, version: string): Promise<AgentVersion> {
  const found = await findVersion(em, agent, version);
  if (found === null) throw notFound('version');
  return found;
}

type SmallVersion = Pick<AgentVersion, 'id' | 'agent_id' | 'version' | 'status' | 'created_by'> & {
  created_at: Date | string;
  published_at?: Date | string | null | undefined;
};

/** A version in a list: large fields are null and named in `omitted`. */
export type ListedVersion = SmallVersion & {
  [Key in keyof VersionContent | 'changelog']: AgentVersion[Key] | null;
} & { omitted: string[] };

const LARGE_VERSION_COLUMNS = ['configuration', 'input_schema', 'output_schema', 'changelog'].map((name) => ({
  name,
  column: `v.${name}`,
}));

/** Newest first. */
export async function listVersions(
  em: EntityManager,
  agent: Agent,
  page: KeysetPage,
  view?: ListView,
): Promise<ListedVersion[]> {
  return em.execute<ListedVersion[]>(
    `select v.id, v.agent_id, v.version, v.status, v.created_by, v.created_at, v.published_at,
            ${listedColumns(LARGE_VERSION_COLUMNS, { view })}
       from agent_version v
      where v.agent_id = ? and v.id < coalesce(?::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      order by v.id desc limit ?`,
    [agent.id, page.after ?? null, page.limit],
  );
}

/** @throws 409 unless the version is a draft */
export function checkDraft(version: AgentVersion): void {
  if (version.status !== 'draft') {
    throw conflict(
      'version_immutable',
      `Version ${version.version} is ${version.status} and cannot be changed: create a new, higher version.`,
    );
  }
}

/** @throws 409 if the version exists */
export async function checkNewVersion(em: EntityManager, agent: Agent, version: string): Promise<void> {
  if ((await findVersion(em, agent, version)) !== null)
    throw conflict('version_exists', `Version ${version} exists already.`);
}

/** @throws 409 unless it is higher than the agent's current version */
export function checkHigher(agent: Agent, version: string): void {
  if (!isHigher(version, agent.version)) {
    throw conflict(
      'version_not_higher',
      `A new version must be higher than the current one, ${agent.version}.`,
    );
  }
}

/** Changes a draft. If it is the current version, the agent changes too. */
export async function updateDraft(
  em: EntityManager,
  agent: Agent,
  version: AgentVersion,
  change: Partial<VersionContent> & { changelog?: string | null },
): Promise<AgentVersion> {
  checkDraft(version);
  checkSchemas(change);
  const { changelog, ...content } = change;
  if (changelog !== undefined) version.changelog = changelog;
  for (const key of ['configuration', 'input_schema', 'output_schema'] as const) {
    const value = content[key];
    if (value === undefined) continue;
    version[key] = value ?? {};
    if (agent.version === version.version) agent[key] = value;
  }
  agent.updated_at = new Date();
  await em.flush();
  return version;
}

/** draft → published. If it is higher than the current version, it becomes the current one. */
export async function publishVersion(
  em: EntityManager,
  agent: Agent,
  version: AgentVersion,
): Promise<AgentVersion> {
  if (version.status !== 'draft')
    throw conflict(
      'not_a_draft',
      `Version ${version.version} is ${version.status}: only a draft can be published.`,
    );
  version.status = 'published';
  version.published_at = new Date();
  if (isHigher(version.version, agent.version)) makeCurrent(agent, version);
  agent.updated_at = new Date();
  await em.flush();
  return version;
}

/** published → deprecated. References to it keep working. */
export async function deprecateVersion(
  em: EntityManager,
  agent: Agent,
  version: AgentVersion,
): Promise<AgentVersion> {
  if (version.status !== 'published') {
    throw conflict(
      'not_published',
      `Version ${version.version} is ${version.status}: only a published one can be deprecated.`,
    );
  }
  version.status = 'deprecated';
  agent.updated_at = new Date();
  await em.flush();
  return version;
}

export function makeCurrent(agent: Agent, version: AgentVersion): void {
  Object.assign(agent, {
    version: version.version,
    configuration: version.configuration,
    input_schema: version.input_schema,
    output_schema: version.output_schema,
  });
}

/** By precedence; versions that differ only in build metadata are ordered by it, so the order is total. */
function isHigher(version: string, than: string): boolean {
  return compareBuild(version, than) > 0;
}
