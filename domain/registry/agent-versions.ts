/** Versions of an agent: draft → published → deprecated. Only a draft changes (interface-decisions §3). */
import { isDeepStrictEqual } from 'node:util';
import { compareBuild } from 'semver';
import { v7 as uuidv7 } from 'uuid';

import { checkJsonSchema } from '../../contracts/json-schema.ts';
import { AgentVersion } from '../../db/entities/agent-version.ts';
import type { Agent } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict, invalid, notFound } from '../errors.ts';

type JsonObject = Record<string, unknown>;

/** What a version holds. On the agent each is null where unset, on a version `{}`. */
export interface VersionContent {
  configuration: JsonObject | null;
  input_schema: JsonObject | null;
  output_schema: JsonObject | null;
}

export function contentOf(from: { [Key in keyof VersionContent]?: VersionContent[Key] | undefined }): VersionContent {
  return { configuration: from.configuration ?? null, input_schema: from.input_schema ?? null, output_schema: from.output_schema ?? null };
}

/** 422 with every problem of both schemas, at pointers into the record. */
export function checkSchemas(content: Partial<VersionContent>): void {
  const errors = (['input_schema', 'output_schema'] as const).flatMap((key) =>
    checkJsonSchema(content[key] ?? {})
      .filter(({ severity }) => severity === 'error')
      .map(({ pointer, message }) => ({ pointer: `/${key}${pointer}`, code: 'json_schema', message })),
  );
  if (errors.length > 0) throw invalid(errors);
}

export function sameContent(a: VersionContent, b: VersionContent): boolean {
  return isDeepStrictEqual(plain(a), plain(b));
}

/** JSON as it is stored: values of the database and of requests come with different prototypes. */
function plain(content: VersionContent): unknown {
  return JSON.parse(JSON.stringify([content.configuration, content.input_schema, content.output_schema].map((part) => part ?? {})));
}

export async function addDraft(em: EntityManager, actor: Actor, agent: Agent, version: string, content: VersionContent, changelog: string | null): Promise<AgentVersion> {
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

export async function findVersion(em: EntityManager, agent: Agent, version: string): Promise<AgentVersion | null> {
  return em.findOne(AgentVersion, { agent_id: agent.id, version });
}

export async function getVersion(em: EntityManager, agent: Agent, version: string): Promise<AgentVersion> {
  const found = await findVersion(em, agent, version);
  if (found === null) throw notFound('version');
  return found;
}

export async function listVersions(em: EntityManager, agent: Agent, paging: { before?: string | undefined; limit: number }): Promise<AgentVersion[]> {
  return em.find(
    AgentVersion,
    { agent_id: agent.id, ...(paging.before === undefined ? {} : { id: { $lt: paging.before } }) },
    { orderBy: { id: 'desc' }, limit: paging.limit },
  );
}

/** 409 for what is no draft any more. */
export function checkDraft(version: AgentVersion): void {
  if (version.status !== 'draft') {
    throw conflict('version_immutable', `Version ${version.version} is ${version.status} and cannot be changed: make a new, higher version.`);
  }
}

/** 409 for a name that is taken. */
export async function checkNewVersion(em: EntityManager, agent: Agent, version: string): Promise<void> {
  if ((await findVersion(em, agent, version)) !== null) throw conflict('version_exists', `Version ${version} exists already.`);
}

/** 409 unless it is higher than the agent's current one. */
export function checkHigher(agent: Agent, version: string): void {
  if (!isHigher(version, agent.version)) {
    throw conflict('version_not_higher', `A new version must be higher than the current one, ${agent.version}.`);
  }
}

/** Changes a draft; the agent shows it where it is the current one. */
export async function updateDraft(em: EntityManager, agent: Agent, version: AgentVersion, change: Partial<VersionContent> & { changelog?: string | null }): Promise<AgentVersion> {
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

/** draft → published. It becomes the agent's current version if it is higher than that. */
export async function publishVersion(em: EntityManager, agent: Agent, version: AgentVersion): Promise<AgentVersion> {
  if (version.status !== 'draft') throw conflict('not_a_draft', `Version ${version.version} is ${version.status}: only a draft can be published.`);
  version.status = 'published';
  if (isHigher(version.version, agent.version)) makeCurrent(agent, version);
  agent.updated_at = new Date();
  await em.flush();
  return version;
}

/** published → deprecated. It stays usable by those that name it. */
export async function deprecateVersion(em: EntityManager, agent: Agent, version: AgentVersion): Promise<AgentVersion> {
  if (version.status !== 'published') {
    throw conflict('not_published', `Version ${version.version} is ${version.status}: only a published one can be deprecated.`);
  }
  version.status = 'deprecated';
  agent.updated_at = new Date();
  await em.flush();
  return version;
}

export function makeCurrent(agent: Agent, version: AgentVersion): void {
  Object.assign(agent, { version: version.version, configuration: version.configuration, input_schema: version.input_schema, output_schema: version.output_schema });
}

/** By precedence; versions that differ in build metadata only are ordered by it, so that there is an order at all. */
function isHigher(version: string, than: string): boolean {
  return compareBuild(version, than) > 0;
}
