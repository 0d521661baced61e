/** Agents from elsewhere: import, refresh, and a check of the counterpart (docs/agents.md#import-agents). */
import * as z from 'zod';
import semver from 'semver';

import { Fault } from '../../../contracts/fault.ts';
import { AUTHENTICATION_TYPES } from '../../../contracts/agent-types.ts';
import { replaceInAddresses } from '../../../contracts/credentials.ts';
import { conflict, forbidden, invalid, type AppError } from '../../../domain/errors.ts';
import { checkSecretLimit, checkSkillLimit, checkVersionLimits } from '../../../domain/limits.ts';
import { SOURCE_KINDS, type SourceKind } from '../../../contracts/source-kinds.ts';
import type { SourceOffer } from '../../../domain/ports.ts';
import { mayChangeAgent } from '../../../domain/registry/agent-policy.ts';
import {
  applyChanges,
  changesAt,
  comparesOutputs,
  findImported,
  importOffer,
  lockImports,
  readerOf,
  type SourceAccess,
} from '../../../domain/registry/agent-offers.ts';
import { getAgent, getAgentForChange, stateOf } from '../../../domain/registry/agent-service.ts';
import { checkAgent } from '../../../domain/registry/check-agent.ts';
import { resolveSecret } from '../../../domain/secrets/service.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { httpUrl, idParams, jsonObject, text } from '../../schemas.ts';
import { checkRecord } from './presenter.ts';
import { semanticVersion } from './schemas.ts';

const TIMEOUT_MS = 30_000;
/** Agents of one import. */
const MAX_IMPORTED = 50;
const MAX_SHOWN = 500;
const TAGS = ['agents'];

/** The record's `source` keeps the address, for all who see the agent. */
function holdsCredential(url: string): boolean {
  let found = false;
  replaceInAddresses(url, () => {
    found = true;
    return '';
  });
  return found;
}

const importRequest = z.object({
  from: z.enum(SOURCE_KINDS),
  url: httpUrl(255)
    .refine(
      (url) => !holdsCredential(url),
      'contains a credential: store it as a secret, and write <NAME> in its place',
    )
    .meta({
      description:
        'Of the A2A agent or its card, the OpenAPI document, the MCP server, or the LangGraph server.',
    }),
  select: z
    .array(text({ min: 1, max: 255 }))
    .min(1)
    .max(MAX_IMPORTED)
    .optional()
    .meta({
      description:
        'What to import: ids of operations, names of tools, or assistants. `*` of an MCP server makes one ' +
        'agent with all tools as its skills. Default: all.',
    }),
  output_schemas: z
    .boolean()
    .default(false)
    .meta({
      description:
        'Takes over the schemas of answers, too (`openapi`, `mcp`). An answer that does not fit ' +
        'is then an error.',
    }),
  dry_run: z.boolean().default(false).meta({ description: 'Only shows what would be made.' }),
  version: semanticVersion.default('1.0.0'),
  visibility: z.enum(['private', 'public']).default('private'),
  authentication_type: z.enum(AUTHENTICATION_TYPES).nullish(),
  authentication_config: jsonObject.nullish().meta({
    description: 'Used for reading the source, and kept by the agents. `<NAME>` stands for a secret.',
  }),
});

const offerRecord = z
  .object({
    select: z.string(),
    status: z.enum(['new', 'imported', 'exists']).meta({
      description: '`exists`: an agent of the caller was imported from there before, and stays as it is.',
    }),
    agent_id: z.string().nullable(),
    name: z.string(),
    description: z.string().nullable(),
    type: z.string(),
    execution_type: z.string().nullable(),
    configuration: jsonObject,
    input_schema: jsonObject.nullable(),
    output_schema: jsonObject.nullable(),
    skills: z.array(z.string()),
  })
  .meta({ id: 'AgentOffer' });

const importRecord = z.object({ agents: z.array(offerRecord) }).meta({ id: 'AgentImport' });

const refreshRecord = z
  .object({
    found: z.boolean().meta({ description: 'Whether the source still offers it.' }),
    changes: z.array(
      z
        .object({ field: z.string(), before: z.unknown(), after: z.unknown() })
        .meta({ id: 'AgentSourceChange' }),
    ),
    applied: z.boolean(),
    version: z.string().meta({ description: "The agent's current version." }),
  })
  .meta({ id: 'AgentRefresh' });

type Read = { offers: SourceOffer[] } | { refusal: AppError };

export function agentSourceEndpoints(deps: AppDeps): Endpoint[] {
  return [importEndpoint(deps), refreshEndpoint(deps), checkEndpoint(deps)];
}

function importEndpoint(deps: AppDeps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/agents/import',
    operationId: 'importAgents',
    summary: 'Register agents from an A2A card, an OpenAPI document, an MCP server or a LangGraph server',
    description: `At most ${MAX_IMPORTED} at once; a dry run shows ${MAX_SHOWN}.`,
    tags: TAGS,
    role: 'builder',
    body: importRequest.meta({ id: 'AgentImportRequest' }),
    responses: { 200: importRecord, 201: importRecord },
    prepare: async (c): Promise<Read> => {
      const { from, url, select = null, output_schemas: outputs } = c.body;
      return readSource(deps, c.actor.id, { from, url, select, outputs }, accessOf(c.body));
    },
    handler: async (c) => {
      const offers = offersOf(c.prepared);
      const { from, url, select, dry_run: dryRun, version, visibility } = c.body;
      const missing = (select ?? []).filter(
        (one) => !offers.some(({ select: own, fields }) => own === one || fields.name === one),
      );
      if (missing.length > 0 && from !== 'langgraph' && from !== 'a2a')
        throw invalid([
          {
            pointer: '/select',
            code: 'unknown',
            message: `the source has no ${missing.slice(0, 5).join(', ')}`,
          },
        ]);
      if (!dryRun && offers.length > MAX_IMPORTED)
        throw invalid([
          {
            pointer: '/select',
            code: 'too_many',
            message: `the source offers ${offers.length} agents: select at most ${MAX_IMPORTED}`,
          },
        ]);
      if (!dryRun) await lockImports(c.em, c.actor.id, { from, url });
      const before = await findImported(c.em, c.actor.id, { from, url });
      const outputs = c.body.output_schemas;
      const made = { from, url, version, visibility, outputs, ...accessOf(c.body) };
      const agents: z.input<typeof offerRecord>[] = [];
      for (const offer of offers.slice(0, MAX_SHOWN)) {
        const known = before.get(offer.select) ?? null;
        if (known !== null || dryRun) {
          agents.push(presentOffer(offer, known === null ? 'new' : 'exists', known));
          continue;
        }
        const { agent } = await importOffer(c.em, deps.encryption, c.actor, offer, made);
        await checkVersionLimits(c.em, deps.env, agent.id, { added: true });
        await checkSkillLimit(c.em, deps.env, agent.id);
        agents.push(presentOffer(offer, 'imported', agent.id, agent.configuration ?? {}));
      }
      await checkSecretLimit(c.em, deps.env, c.actor.id);
      return { status: dryRun ? 200 : 201, body: { agents } };
    },
  });
}

function refreshEndpoint(deps: AppDeps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/agents/{id}/refresh',
    operationId: 'refreshAgent',
    summary: 'Show what has changed at the source of an imported agent, or apply it as a new draft',
    tags: TAGS,
    role: 'builder',
    params: idParams,
    body: z
      .object({
        apply: z.boolean().default(false),
        version: semanticVersion
          .optional()
          .meta({ description: 'Of the new draft. Default: the next minor version.' }),
      })
      .meta({ id: 'AgentRefreshRequest' }),
    responses: { 200: refreshRecord },
    errors: [403, 409],
    prepare: async (c): Promise<Read> => {
      const agent = await getAgent(c.em, c.actor, c.params.id);
      const { source, holder_id: holder } = agent;
      if (!source || !mayChangeAgent(c.actor, agent)) return { offers: [] };
      const { from, url, select } = source;
      return readSource(
        deps,
        holder,
        { from, url, select: from === 'a2a' ? null : [select], outputs: comparesOutputs(source) },
        accessOf(agent),
      );
    },
    handler: async (c) => {
      const agent = await getAgentForChange(c.em, c.actor, c.params.id);
      c.checkSyntax();
      const { source } = agent;
      if (!source) throw conflict('not_imported', 'The agent was not imported.');
      const offers = offersOf(c.prepared);
      const offer = source.from === 'a2a' ? offers[0] : offers.find(({ select }) => select === source.select);
      if (offer === undefined)
        return { status: 200, body: { found: false, changes: [], applied: false, version: agent.version } };
      const changes = changesAt(await stateOf(c.em, agent), source, offer);
      const { apply, version = semver.inc(agent.version, 'minor') ?? '1.0.0' } = c.body;
      const applied = apply && changes.length > 0;
      if (applied) {
        await applyChanges(c.em, deps.encryption, c.actor, Object.assign(agent, { source }), {
          offer,
          changes,
          version,
        });
        await checkVersionLimits(c.em, deps.env, agent.id, { added: true });
        await checkSkillLimit(c.em, deps.env, agent.id);
        await checkSecretLimit(c.em, deps.env, agent.holder_id);
      }
      return { status: 200, body: { found: true, changes, applied, version: agent.version } };
    },
  });
}

function checkEndpoint(deps: AppDeps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/agents/{id}/check',
    operationId: 'checkAgent',
    summary: "Try the agent's counterpart without doing any work, and keep the result",
    description:
      'For the owner and admins, once in 5 seconds. An `api` agent is asked by OPTIONS without ' +
      'credentials, or by GET at `configuration.check`.',
    tags: TAGS,
    role: 'builder',
    params: idParams,
    responses: { 200: checkRecord },
    errors: [403],
    idempotent: false,
    transaction: false,
    handler: async (c) => {
      const agent = await getAgent(c.em, c.actor, c.params.id);
      if (!mayChangeAgent(c.actor, agent)) throw forbidden('Only the owner and admins may check this agent.');
      c.checkSyntax();
      const body = await checkAgent(
        {
          fork: () => deps.orm.em.fork(),
          sources: deps.sources,
          temporal: deps.temporal,
          secret: (owner, name) => resolveSecret(deps.orm.em.fork(), deps.encryption, owner, name),
        },
        agent,
      );
      return { status: 200, body: { ...body } };
    },
  });
}

function accessOf(given: {
  authentication_type?: string | null | undefined;
  authentication_config?: Record<string, unknown> | null | undefined;
}): SourceAccess {
  const { authentication_type: type = null, authentication_config: config = null } = given;
  return { authentication_type: type, authentication_config: config };
}

async function readSource(
  deps: AppDeps,
  ownerId: string,
  source: { from: SourceKind; url: string; select: string[] | null; outputs: boolean },
  access: SourceAccess,
): Promise<Read> {
  try {
    const offers = await deps.sources.read({
      ...source,
      agent: readerOf(ownerId, source.url, access),
      secret: (name) => resolveSecret(deps.orm.em.fork(), deps.encryption, ownerId, name),
      timeoutMs: TIMEOUT_MS,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { offers };
  } catch (error) {
    const timedOut = error instanceof DOMException;
    if (!(error instanceof Fault) && !timedOut) throw error;
    const reason = timedOut ? `it did not answer within ${TIMEOUT_MS / 1_000} s` : reasonOf(error);
    return { refusal: invalid([{ pointer: '/url', code: 'source_unreadable', message: reason }]) };
  }
}

function reasonOf({ error }: Fault): string {
  return error.detail ?? error.title ?? 'it cannot be read';
}

function offersOf(read: Read | undefined): SourceOffer[] {
  if (read === undefined) return [];
  if ('refusal' in read) throw read.refusal;
  return read.offers;
}

function presentOffer(
  { select, fields, skills }: SourceOffer,
  status: 'new' | 'imported' | 'exists',
  agentId: string | null,
  configuration = fields.configuration,
): z.input<typeof offerRecord> {
  const { name, description, type, execution_type, input_schema, output_schema } = fields;
  const shown = { name, description, type, execution_type, configuration, input_schema, output_schema };
  return { select, status, agent_id: agentId, ...shown, skills: skills.map((skill) => skill.name) };
}
