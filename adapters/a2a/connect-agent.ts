/** Connects to the agent of a call: finds its card, chooses an interface, and authenticates. */
import type { AgentCard, AgentInterface } from '@a2a-js/sdk';
import { Fault, fault } from '../../contracts/fault.ts';
import { agentCredentials, type AgentCredentials } from '../authentication/agent-authentication.ts';
import type { TokenSource } from '../authentication/oauth-token.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { streamingFetch } from '../egress/streaming-fetch.ts';
import { headersOf } from '../http/message.ts';
import { renderTemplate } from '../secrets/templates.ts';
import { chooseInterface, type CardSource } from './agent-card.ts';
import { authorizedFetch } from './authorized-fetch.ts';
import type { Conversation } from './conversation.ts';
import { grpcOrigin } from './grpc-origin.ts';
import { openGrpc } from './grpc-transport.ts';
import { connectRemote, type RemoteAgent } from './remote-agent.ts';

/** The remote task can still be cancelled for this long after the call has ended. */
export const CANCEL_MS = 5_000;
/** Independent of the call's own signal: cancelling the remote task after the call needs credentials too. */
const CREDENTIALS_MS = 30_000;
/** Longer than the 15 s between keep-alives of our own streams and of most servers. */
const IDLE_MS = 45_000;
/** gRPC has no keep-alive comments, so a stream that is silent for this long is reopened. */
const GRPC_IDLE_MS = 120_000;
const MAX_BYTES = 16 * 1024 * 1024;

export interface ConnectTools {
  egress: EgressPolicy;
  tokens: TokenSource;
  cards: CardSource;
}

export interface ConnectedAgent {
  remote: RemoteAgent;
  /** Media types that the agent takes; empty if it names none. */
  inputModes: readonly string[];
}

/** Throws `Fault` if the agent has no usable interface, or the rules refuse it. */
export async function connectAgent(tools: ConnectTools, conversation: Conversation): Promise<ConnectedAgent> {
  const { call, configuration, sensitive } = conversation;
  const access = accessTo(tools, conversation);
  const address = addressOf(conversation);
  const card = await fetchCard(tools.cards, address, access.fetch, conversation);
  const chosen = chooseInterface(card, configuration.binding);
  const origin = originOf(chosen, address, call.agent.name);
  const remote = await connectRemote(card, chosen, {
    fetch: access.fetch,
    grpc: () =>
      openGrpc(origin, {
        egress: tools.egress,
        credentials: access.credentials,
        headers: access.headers,
        words: sensitive,
        idleMs: GRPC_IDLE_MS,
        maxBytes: MAX_BYTES,
      }),
    streaming: configuration.streaming !== false && card.capabilities?.streaming === true,
    acceptedOutputModes: configuration.accepted_output_modes ?? [],
    extensions: configuration.extensions ?? [],
  });
  return { remote, inputModes: inputModesOf(card, call.skill) };
}

/** What every request to the agent needs, over HTTP or gRPC. */
interface Access {
  credentials: () => Promise<AgentCredentials>;
  /** The configured headers. */
  headers: Record<string, string>;
  /** Sends both with each request. */
  fetch: typeof fetch;
}

function accessTo({ egress, tokens }: ConnectTools, conversation: Conversation): Access {
  const { call, configuration, sensitive } = conversation;
  const { agent, timeoutMs } = call;
  const headers = headersOf(renderTemplate(configuration.headers, call.input, sensitive, 'headers'));
  const credentials = () =>
    agentCredentials({ agent, timeoutMs, signal: AbortSignal.timeout(CREDENTIALS_MS) }, sensitive, tokens);
  const send = streamingFetch(egress, {
    timeoutMs: timeoutMs + CANCEL_MS,
    idleMs: IDLE_MS,
    maxBytes: MAX_BYTES,
  });
  return {
    credentials,
    headers,
    fetch: authorizedFetch(send, credentials, { headers, words: sensitive }),
  };
}

/** Where the agent's card is, or starts to be looked for; with its secrets. */
interface Address {
  url: string | null;
  cardUrl: string | undefined;
}

function addressOf({ call, configuration, sensitive }: Conversation): Address {
  const { url } = call.agent;
  const { card_url: cardUrl } = configuration;
  return {
    url: url === null ? null : sensitive.fill(url),
    cardUrl: cardUrl === undefined ? undefined : sensitive.fill(cardUrl),
  };
}

async function fetchCard(
  cards: CardSource,
  { url, cardUrl }: Address,
  send: typeof fetch,
  { call, signal }: Conversation,
): Promise<AgentCard> {
  const reader = `${call.agent.id} ${call.agent.version}`;
  return cards.card({ url, card_url: cardUrl, reader }, async (place) => {
    const headers = { accept: 'application/json', 'a2a-version': '1.0' };
    const answer = await nullIfAbsent(send(place, { headers, signal }));
    return answer === null ? null : ((await answer.json().catch(() => ({}))) as unknown);
  });
}

async function nullIfAbsent(sent: Promise<Response>): Promise<Response | null> {
  try {
    const answer = await sent;
    return answer.ok ? answer : null;
  } catch (error) {
    if (error instanceof Fault && [404, 405, 410].includes(error.error.status)) return null;
    throw error;
  }
}

/** The address of the interface. Throws `Fault` if a card that came over TLS leads away from TLS. */
function originOf(chosen: AgentInterface, { url, cardUrl }: Address, agentName: string): string {
  const overTls = (cardUrl ?? url)?.startsWith('https:') === true;
  const isGrpc = chosen.protocolBinding.toUpperCase() === 'GRPC';
  const origin = isGrpc ? grpcOrigin(chosen.url, overTls) : chosen.url;
  if (overTls && !origin.startsWith('https:')) {
    throw fault(
      'authorization',
      `The card of ${agentName} leads from https to an address without TLS, which is not called`,
    );
  }
  return origin;
}

/** Those of the called skill, else those of the agent. */
function inputModesOf(card: AgentCard, skillId: string | undefined): readonly string[] {
  const ofSkill = card.skills?.find(({ id }) => id === skillId)?.inputModes ?? [];
  return ofSkill.length > 0 ? ofSkill : (card.defaultInputModes ?? []);
}
