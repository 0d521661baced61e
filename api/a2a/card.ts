/** Agent cards of A2A: the pure 1.0 card, signed; the union of 0.3 and 1.0 for those who say no version; the extended card. */
import { AgentCard, generateAgentCardSignature } from '@a2a-js/sdk';

import type { A2AAgent } from '../../domain/a2a/agent.ts';
import { HITL_EXTENSION } from '../../domain/a2a/hitl-extension.ts';
import { defaultModes, toMediaTypes } from '../../domain/a2a/modes.ts';
import type { AppDeps } from '../app.ts';

type CardDeps = Pick<AppDeps, 'env' | 'grpc'>;

export function agentBase({ env }: Pick<AppDeps, 'env'>, agentId: string): string {
  return `${env.BASE_URL}/api/v1/a2a/${agentId}`;
}

/** What the card says, unsigned. */
export function buildCard(deps: CardDeps, target: A2AAgent): AgentCard {
  return AgentCard.fromJSON(cardJson(deps, target));
}

/** For those who are signed in: with the agent's schemas. */
export function extendedCard(deps: CardDeps, target: A2AAgent): AgentCard {
  const card = cardJson(deps, target);
  const { input_schema, output_schema } = target.agent;
  const schemas = { uri: `${deps.env.BASE_URL}/docs/a2a#schemas`, description: "JSON Schemas of the agent's input and output", required: false, params: { input_schema, output_schema } };
  return AgentCard.fromJSON({ ...card, capabilities: { ...card.capabilities, extensions: [...card.capabilities.extensions, schemas] } });
}

/** Signed by the key that signs access tokens: RFC 8785, JWS; keys at `/.well-known/jwks.json`. As JSON. */
export async function signedCard({ env, keys }: Pick<AppDeps, 'env' | 'keys'>, card: AgentCard): Promise<unknown> {
  const { kid, privateKey } = await keys.current();
  const sign = generateAgentCardSignature(privateKey, { alg: 'ES256', kid, typ: 'JOSE', jku: `${env.BASE_URL}/.well-known/jwks.json` });
  return AgentCard.toJSON(await sign(card));
}

/** Both versions' fields in one object. Every reader takes its own; a scheme's two spellings stand side by side. */
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
    additionalInterfaces: [{ url: base, transport: 'JSONRPC' }, { url: base, transport: 'HTTP+JSON' }],
    capabilities: { ...withFlags(card['capabilities'], agent), stateTransitionHistory: agent.capabilities_history },
    supportsAuthenticatedExtendedCard: true,
    security: [{ bearer: [] }],
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', httpAuthSecurityScheme: { scheme: 'bearer', bearerFormat: 'JWT' } } },
    skills: cardJson(deps, target).skills,
  };
}

/** The codec leaves out what is false; readers of 0.3 look for it. */
function withFlags(capabilities: unknown, { capabilities_streaming, capabilities_push }: A2AAgent['agent']): Record<string, unknown> {
  return { ...(capabilities as Record<string, unknown>), streaming: capabilities_streaming, pushNotifications: capabilities_push };
}

function cardJson(deps: CardDeps, { agent, skills, extensions }: A2AAgent) {
  const base = agentBase(deps, agent.id);
  const modes = defaultModes(agent.modalities ?? null);
  const own = extensions.map(({ uri, description, required, params }) => ({ uri, description, required, ...(params ? { params } : {}) }));
  const hitl = { uri: HITL_EXTENSION, description: 'Approvals by people: tool_approval_request in the message of INPUT_REQUIRED', required: false };
  return {
    name: agent.name,
    description: agent.description || agent.name,
    version: agent.version,
    supportedInterfaces: [
      { url: base, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: base, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { url: base, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url: base, protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
      // The HTTP bindings have the agent in their URL, this one in each request.
      ...(deps.grpc.url === null ? [] : [{ url: deps.grpc.url, protocolBinding: 'GRPC', protocolVersion: '1.0', tenant: agent.id }]),
    ],
    ...(agent.provider_name ? { provider: { organization: agent.provider_name, url: agent.provider_url ?? deps.env.BASE_URL } } : {}),
    ...(agent.documentation ? { documentationUrl: `${deps.env.BASE_URL}/docs/agents/${agent.id}` } : {}),
    capabilities: {
      streaming: agent.capabilities_streaming,
      pushNotifications: agent.capabilities_push,
      extendedAgentCard: true,
      extensions: [...own, hitl],
    },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'bearer', bearerFormat: 'JWT', description: 'POST /auth/token gives the token' } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: modes,
    defaultOutputModes: modes,
    // The protocol wants a skill; an agent that names none has one: itself.
    skills: skills.length > 0 ? skills.map(skillJson) : [{ id: agent.id, name: agent.name, description: agent.description || agent.name, tags: agent.tags?.length ? agent.tags : [agent.type] }],
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
