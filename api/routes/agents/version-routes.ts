import { holderOf } from '../../../domain/auth/ownership.ts';
import * as z from 'zod';

import type { AgentVersion } from '../../../db/entities/agent-version.ts';
import type { Agent } from '../../../db/entities/agent.ts';
import { checkAgentHeaders } from '../../../domain/registry/agent-headers.ts';
import { checkAgentSize, savingMs } from '../../../domain/registry/agent-size.ts';
import { getAgent, getAgentForChange } from '../../../domain/registry/agent-service.ts';
import {
  addDraft,
  checkDraft,
  checkNewVersion,
  contentOf,
  deprecateVersion,
  getVersion,
  listVersions,
  publishVersion,
  updateDraft,
} from '../../../domain/registry/agent-versions.ts';
import { createSecretMover } from '../../../domain/registry/literal-secrets.ts';
import { checkSecretLimit, checkVersionLimits } from '../../../domain/limits.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { viewQuery } from '../../listed.ts';
import { byId, readPage } from '../../paging.ts';
import { emptyBody, idParams, pageQuery } from '../../schemas.ts';
import { contentOfNew, contentPatch } from './fields.ts';
import { listedVersion, presentListedVersion, presentVersion, versionRecord } from './presenter.ts';
import { newVersion, versionPatch } from './schemas.ts';

const TAGS = ['agents'];
const versionParams = z.object({ ...idParams.shape, version: z.string() });

export function versionEndpoints({ encryption, env }: Pick<AppDeps, 'encryption' | 'env'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/agents/{id}/versions',
      operationId: 'listAgentVersions',
      summary: "List an agent's versions, newest first",
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      query: z.object({ ...pageQuery, ...viewQuery }),
      responses: { 200: z.array(listedVersion) },
      handler: async (c) => {
        const agent = await getAgent(c.em, c.actor, c.params.id);
        const { items, headers } = await readPage(c, byId, (page, { view }) =>
          listVersions(c.em, agent, page, view),
        );
        return { status: 200, body: items.map(presentListedVersion), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/agents/{id}/versions',
      operationId: 'createAgentVersion',
      summary: 'Add a draft; omitted parts are copied from the current version',
      description:
        'The draft becomes the current version when it is published or when `PATCH /agents/{id}` selects it.',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      body: newVersion,
      record: versionRecord,
      responses: { 201: versionRecord },
      errors: [409],
      handler: async (c) => {
        const agent = await getAgentForChange(c.em, c.actor, c.params.id);
        await checkNewVersion(c.em, agent, c.body.version);
        const before = contentOf(agent);
        const content = contentOfNew(c.body, before);
        c.count(savingMs(c.body));
        checkAgentSize(content, before);
        checkAgentHeaders({ ...agent, ...content }, { ...agent, ...before });
        const configuration = await createSecretMover(c.em, encryption, agent).move(
          content.configuration,
          'configuration',
        );
        const draft = await addDraft(
          c.em,
          c.actor,
          agent,
          c.body.version,
          { ...content, configuration },
          c.body.changelog ?? null,
        );
        agent.updated_at = new Date();
        await checkVersionLimits(c.em, env, agent.id, { added: true });
        await checkSecretLimit(c.em, env, holderOf(agent));
        const location = `${c.baseUrl}/agents/${agent.id}/versions/${encodeURIComponent(draft.version)}`;
        return { status: 201, body: presentVersion(draft), headers: { Location: location } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/agents/{id}/versions/{version}',
      operationId: 'getAgentVersion',
      summary: 'Get one version of an agent',
      tags: TAGS,
      role: 'viewer',
      params: versionParams,
      responses: { 200: versionRecord },
      handler: async (c) => {
        const agent = await getAgent(c.em, c.actor, c.params.id);
        return { status: 200, body: presentVersion(await getVersion(c.em, agent, c.params.version)) };
      },
    }),
    endpoint({
      method: 'PATCH',
      path: '/agents/{id}/versions/{version}',
      operationId: 'updateAgentVersion',
      summary: 'Update a draft',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: versionParams,
      body: versionPatch,
      record: versionRecord,
      consumes: ['application/json', 'application/merge-patch+json'],
      responses: { 200: versionRecord },
      errors: [409],
      handler: async (c) => {
        const { agent, version } = await loadForChange(c);
        checkDraft(version);
        const { changelog, ...parts } = c.body;
        const before = contentOf(agent.version === version.version ? agent : version);
        const content = contentPatch(parts)(before);
        c.count(savingMs(c.body));
        checkAgentSize(content, before);
        checkAgentHeaders({ ...agent, ...content }, { ...agent, ...before });
        const configuration = await createSecretMover(c.em, encryption, agent).move(
          content.configuration,
          'configuration',
        );
        const change = { ...content, configuration, ...(changelog === undefined ? {} : { changelog }) };
        const changed = await updateDraft(c.em, agent, version, change);
        await checkVersionLimits(c.em, env, agent.id, { added: false });
        await checkSecretLimit(c.em, env, holderOf(agent));
        return { status: 200, body: presentVersion(changed) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/agents/{id}/versions/{version}/publish',
      operationId: 'publishAgentVersion',
      summary: 'Publish a draft, which makes it immutable, and the current version if it is the highest',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: versionParams,
      body: emptyBody,
      responses: { 200: versionRecord },
      errors: [409],
      handler: async (c) => {
        const { agent, version } = await loadForChange(c);
        return { status: 200, body: presentVersion(await publishVersion(c.em, agent, version)) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/agents/{id}/versions/{version}/deprecate',
      operationId: 'deprecateAgentVersion',
      summary: 'Deprecate a published version; it remains usable',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: versionParams,
      body: emptyBody,
      responses: { 200: versionRecord },
      errors: [409],
      handler: async (c) => {
        const { agent, version } = await loadForChange(c);
        return { status: 200, body: presentVersion(await deprecateVersion(c.em, agent, version)) };
      },
    }),
  ];
}

/**
 * Loads a version with its agent locked. Errors come in the order 404, 403, then syntax errors of the body.
 */
async function loadForChange(
  c: EndpointContext<{ id: string; version: string }>,
): Promise<{ agent: Agent; version: AgentVersion }> {
  const agent = await getAgentForChange(c.em, c.actor, c.params.id);
  const version = await getVersion(c.em, agent, c.params.version);
  c.checkSyntax();
  return { agent, version };
}
