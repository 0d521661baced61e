/**
 * A2A agent cards: the signed 1.0 card, a union of 0.3 and 1.0 for clients that send no version, and the
 * extended card.
 */
import { AgentCard, generateAgentCardSignature } from '@a2a-js/sdk';

import type { A2AAgent } from '../../domain/a2a/agent.ts';
import { HITL_EXTENSION } from '../../contracts/a2a/hitl-extension.ts';
import { defaultModes, toMediaTypes } from '../../contracts/a2a/modes.ts';
import type { AppDeps } from '../deps.ts';

type CardDeps = Pick<AppDeps, 'env' | 'grpc'>;

function agentBase({ env }: Pick<AppDeps, 'env'>, agentId: string): string {
  return `${env.BASE_URL}/api/v1/a2a/${agentId}`;
}

/** The unsigned 1.0 card. */
export function buildCard(deps: CardDeps, target: A2AAgent): AgentCard {
  return AgentCard.fromJSON(cardJson(deps, target));
}

/** The card for authenticated callers, which adds the agent's input and output schemas. */
export function extendedCard(deps: CardDeps, target: A2AAgent): AgentCard {
  const card = cardJson(deps, target);
  const { input_schema, output_schema } = target;
  const schemas = {
    uri: `${deps.env.BASE_URL}/docs/a2a#schemas`,
    description: "JSON Schemas of the agent's input and output",
    required: false,
    params: { input_schema, output_schema },
  };
  return AgentCard.fromJSON({
    ...card,
    capabilities: { ...card.capabilities, extensions: [...card.capabilities.extensions, schemas] },
  });
}

/**
 * Signs a card (RFC 8785, JWS) with the key for access tokens; the public keys are at
 * `/.well-known/jwks.json`.
 * @returns the signed card as JSON
 */
export async function signedCard(
  { env, keys }: Pick<AppDeps, 'env' | 'keys'>,
  card: AgentCard,
): Promise<unknown> {
  const { kid, privateKey } = await keys.current();
  const sign = generateAgentCardSignature(privateKey, {
    alg: 'ES256',
    kid,
    typ: 'JOSE',
    jku: `${env.BASE_URL}/.well-known/jwks.json`,
  });
  return AgentCard.toJSON(await sign(card));
}

/**
 * A card with the fields of both versions. Each client reads its own; security schemes are given in both
 * spellings.
 */
export function unionCard(deps: CardDeps, target: A2AAgent): Record<string, unknown> {
  const card = AgentCard.toJSON(buildCard(deps, target)) as Record<string, unknown>;
  const base = agentBase(deps, target.agent.id);
  const { agent } = target;
  return {
    ...card,
    description: agent.description ?? '',
    protocolVersion: '0.3.0',
    url: base,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [
      { url: base, transport: 'JSONRPC' },
      { url: base, transport: 'HTTP+JSON' },
    ],
    capabilities: {
      ...withFlags(card['capabilities'], agent),
      stateTransitionHistory: agent.capabilities_history,
    },
    supportsAuthenticatedExtendedCard: true,
    security: [{ bearer: [] }],
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'JWT',
        httpAuthSecurityScheme: { scheme: 'bearer', bearerFormat: 'JWT' },
      },
    },
    skills: cardJson(deps, target).skills,
  };
}

/** Restores flags that the codec omits when false: 0.3 clients expect them. */
function withFlags(
  capabilities: unknown,
  { capabilities_streaming, capabilities_push }: A2AAgent['agent'],
): Record<string, unknown> {
  return {
    ...(capabilities as Record<string, unknown>),
    streaming: capabilities_streaming,
    pushNotifications: capabilities_push,
  };
}

function cardJson(deps: CardDeps, { agent, skills, extensions }: A2AAgent) {
  const { env } = deps;
  const modes = defaultModes(agent.modalities ?? null);
  return {
    name: agent.name,
    description: agent.description || agent.name,
    version: agent.version,
    supportedInterfaces: interfacesOf(deps, agent.id),
    ...(agent.provider_name
      ? { provider: { organization: agent.provider_name, url: agent.provider_url ?? env.BASE_URL } }
      : {}),
    ...(agent.documentation ? { documentationUrl: `${env.BASE_URL}/docs/agents/${agent.id}` } : {}),
    capabilities: {
      streaming: agent.capabilities_streaming,
      pushNotifications: agent.capabilities_push,
      extendedAgentCard: true,
      extensions: [...extensions.map(extensionJson), hitlExtension],
    },
    securitySchemes: { bearer: { httpAuthSecurityScheme: bearerScheme } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: modes,
    defaultOutputModes: modes,
    // A2A requires at least one skill. An agent without any is listed as its own skill.
    skills: skills.length > 0 ? skills.map(skillJson) : [agentAsSkill(agent)],
  };
}

const bearerScheme = {
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'Get the token with POST /auth/token',
};

const hitlExtension = {
  uri: HITL_EXTENSION,
  description: 'Human approvals: tool_approval_request in the message of INPUT_REQUIRED',
  required: false,
};

function interfacesOf(deps: CardDeps, agentId: string) {
  const url = agentBase(deps, agentId);
  const overHttp = ['1.0', '0.3'].flatMap((protocolVersion) => [
    { url, protocolBinding: 'JSONRPC', protocolVersion },
    { url, protocolBinding: 'HTTP+JSON', protocolVersion },
  ]);
  if (deps.grpc.url === null) return overHttp;
  // HTTP URLs name the agent. gRPC has one address for all agents, so each request names it as tenant.
  const overGrpc = { url: deps.grpc.url, protocolBinding: 'GRPC', protocolVersion: '1.0', tenant: agentId };
  return [...overHttp, overGrpc];
}

function extensionJson({ uri, description, required, params }: A2AAgent['extensions'][number]) {
  return { uri, description, required, ...(params ? { params } : {}) };
}

function agentAsSkill(agent: A2AAgent['agent']): Record<string, unknown> {
  return {
    id: agent.id,
    name: agent.name,
    description: agent.description || agent.name,
    tags: agent.tags?.length ? agent.tags : [agent.type],
  };
}

function skillJson(skill: A2AAgent['skills'][number]): Record<string, unknown> {
  const [input, output] = [toMediaTypes(skill.input_modes ?? []), toMediaTypes(skill.output_modes ?? [])];
  return {
    id: skill.id,
    name: skill.name,
    description: skill.description || skill.name,
    tags: skill.tags ?? [],
    ...(skill.examples?.length ? { examples: skill.examples } : {}),
    ...(input.length > 0 ? { inputModes: input } : {}),
    ...(output.length > 0 ? { outputModes: output } : {}),
  };
}
