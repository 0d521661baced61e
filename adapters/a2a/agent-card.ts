/** Discovery: finds an agent's card by its address, and chooses an interface of the card. */
import type { AgentCard, AgentInterface } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { fault } from '../../contracts/fault.ts';
import { withoutEnd } from '../../contracts/text-end.ts';

const CACHED_MS = 60_000;
const MAX_CACHED_CARDS = 500;
const CARD_PATH = '/.well-known/agent-card.json';
/** The path of protocol 0.2, which some 0.3 agents still use. */
const FORMER_CARD_PATH = '/.well-known/agent.json';
const BINDINGS = ['JSONRPC', 'HTTP+JSON', 'GRPC'];

export interface CardSource {
  /** Throws `Fault` if there is no card, the document is not a card, or the server refuses. */
  card(address: CardAddress, fetchCard: FetchCard): Promise<AgentCard>;
}

interface CardAddress {
  url: string | null;
  card_url: string | undefined;
  /** Cards may differ between readers. */
  reader: string;
}

/** The JSON at a URL; null if the server has nothing there (404, 405, 410). */
type FetchCard = (url: string) => Promise<unknown>;

/** Caches cards in this process for a minute. */
export function createCardSource(): CardSource {
  const cache = new Map<string, { card: AgentCard; until: number }>();
  return {
    async card(address, fetchCard) {
      const key = JSON.stringify([address.url, address.card_url, address.reader]);
      const cached = cache.get(key);
      if (cached !== undefined && cached.until > Date.now()) return cached.card;
      const card = await discover(address, fetchCard);
      cache.delete(key);
      const oldest = cache.keys().next();
      if (cache.size >= MAX_CACHED_CARDS && oldest.done !== true) cache.delete(oldest.value);
      cache.set(key, { card, until: Date.now() + CACHED_MS });
      return card;
    },
  };
}

async function discover({ url, card_url: cardUrl }: CardAddress, fetchCard: FetchCard): Promise<AgentCard> {
  const places = cardUrl !== undefined ? [{ place: cardUrl, isSharedByHost: false }] : placesOf(url);
  // An endpoint may answer requests for any path below it, often with its own kind of error.
  const notCards: string[] = [];
  for (const { place, isSharedByHost } of places) {
    const found = await fetchCard(place);
    if (found === null) continue;
    const card = parseCard(found);
    if (card === null) {
      notCards.push(place);
      continue;
    }
    // The card at a host's root need not belong to the agent below a path.
    if (isSharedByHost && !card.supportedInterfaces.some((offered) => sameAddress(offered.url, url ?? '')))
      continue;
    return card;
  }
  if (notCards.length > 0)
    throw fault('communication', `What is at ${notCards.join(', ')} is not an agent card of A2A 1.0 or 0.3`, {
      status: 502,
    });
  throw fault('communication', `There is no agent card at ${places.map(({ place }) => place).join(', ')}`, {
    status: 404,
  });
}

function placesOf(url: string | null): { place: string; isSharedByHost: boolean }[] {
  if (url === null || !URL.canParse(url))
    throw fault(
      'configuration',
      'The agent has no url that is an absolute address, and no "card_url" in its configuration',
    );
  const address = new URL(url);
  if (address.pathname.endsWith('.json')) return [{ place: url, isSharedByHost: false }];
  const below = withoutEnd(address.pathname, '/');
  const urlOf = (path: string) => `${address.origin}${path}${address.search}`;
  const own = [CARD_PATH, FORMER_CARD_PATH].map((path) => ({
    place: urlOf(below + path),
    isSharedByHost: false,
  }));
  return below === ''
    ? own
    : [
        ...own,
        ...[CARD_PATH, FORMER_CARD_PATH].map((path) => ({ place: urlOf(path), isSharedByHost: true })),
      ];
}

function sameAddress(a: string, b: string): boolean {
  return withoutEnd(a, '/') === withoutEnd(b, '/');
}

/** Normalizes cards of 1.0, of 0.3, and with the fields of both to 1.0; null if it is not a card. */
export function parseCard(found: unknown): AgentCard | null {
  try {
    const card = new DefaultAgentCardResolver({ legacyCompat: { enabled: true } }).normalizeAgentCard(found);
    return Array.isArray(card.supportedInterfaces) && card.supportedInterfaces.length > 0 ? card : null;
  } catch {
    return null;
  }
}

/**
 * The first interface with a supported binding, in the newest version that the card offers for that binding.
 */
export function chooseInterface(card: AgentCard, binding: string | undefined): AgentInterface {
  const supported = card.supportedInterfaces.filter((candidate) => {
    const name = candidate.protocolBinding.toUpperCase();
    // The service of 0.3 has another name over gRPC.
    const versions = name === 'GRPC' ? /^1(\..*)?$/ : /^(|0\.3(\..*)?|1(\..*)?)$/;
    return (
      BINDINGS.includes(name) &&
      (binding === undefined || name === binding) &&
      versions.test(candidate.protocolVersion ?? '')
    );
  });
  const [first] = supported;
  if (first === undefined) {
    const offered = card.supportedInterfaces
      .map(({ protocolBinding, protocolVersion }) => `${protocolBinding} ${protocolVersion}`)
      .join(', ');
    throw fault(
      'configuration',
      `The agent offers ${offered}; ${binding ?? 'JSONRPC and HTTP+JSON in version 1.0 or 0.3, and GRPC'} ` +
        `in version 1.0${binding === undefined || binding === 'GRPC' ? '' : ' or 0.3'} can be called`,
    );
  }
  const sameBinding = supported.filter(
    ({ protocolBinding }) => protocolBinding.toUpperCase() === first.protocolBinding.toUpperCase(),
  );
  return sameBinding.find(({ protocolVersion }) => protocolVersion?.startsWith('1') === true) ?? first;
}
