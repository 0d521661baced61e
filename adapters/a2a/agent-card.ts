/** Discovery: from an agent's address to its card, and to the one of its interfaces that we speak. */
import type { AgentCard, AgentInterface } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { fault } from '../../contracts/fault.ts';

const CACHE_MS = 60_000;
const MAX_CACHED = 500;
const CURRENT = '/.well-known/agent-card.json';
/** Of protocol 0.2, still met at 0.3 agents. */
const FORMER = '/.well-known/agent.json';
const BINDINGS = ['JSONRPC', 'HTTP+JSON', 'GRPC'];

export interface CardSource {
  /** Throws `Fault`: none there, not a card, or what the server said. */
  card(address: CardAddress, fetchCard: FetchCard): Promise<AgentCard>;
}

export interface CardAddress {
  url: string | null;
  card_url: string | undefined;
  /** Cards may differ by who asks. */
  reader: string;
}

/** The JSON under a URL; null where the server has nothing (404, 405, 410). */
export type FetchCard = (url: string) => Promise<unknown>;

/** Cards are kept in this process for a minute. */
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
      if (cache.size >= MAX_CACHED && oldest.done !== true) cache.delete(oldest.value);
      cache.set(key, { card, until: Date.now() + CACHE_MS });
      return card;
    },
  };
}

async function discover({ url, card_url: cardUrl }: CardAddress, fetchCard: FetchCard): Promise<AgentCard> {
  const places = cardUrl !== undefined ? [{ place: cardUrl, elsewhere: false }] : placesOf(url);
  // An endpoint may answer anything below it, with its own kind of error for one.
  const others: string[] = [];
  for (const { place, elsewhere } of places) {
    const found = await fetchCard(place);
    if (found === null) continue;
    const card = parseCard(found);
    if (card === null) {
      others.push(place);
      continue;
    }
    // A host's own card need not be that of an agent somewhere below.
    if (elsewhere && !card.supportedInterfaces.some((one) => sameAddress(one.url, url ?? ''))) continue;
    return card;
  }
  if (others.length > 0) throw fault('communication', `What is at ${others.join(', ')} is not an agent card of A2A 1.0 or 0.3`, { status: 502 });
  throw fault('communication', `There is no agent card at ${places.map(({ place }) => place).join(', ')}`, { status: 404 });
}

function placesOf(url: string | null): { place: string; elsewhere: boolean }[] {
  if (url === null || !URL.canParse(url)) throw fault('configuration', 'The agent has no url that is an absolute address, and no "card_url" in its configuration');
  const address = new URL(url);
  if (address.pathname.endsWith('.json')) return [{ place: url, elsewhere: false }];
  const below = address.pathname.replace(/\/+$/, '');
  const at = (path: string) => `${address.origin}${path}${address.search}`;
  const own = [CURRENT, FORMER].map((path) => ({ place: at(below + path), elsewhere: false }));
  return below === '' ? own : [...own, ...[CURRENT, FORMER].map((path) => ({ place: at(path), elsewhere: true }))];
}

function sameAddress(a: string, b: string): boolean {
  return a.replace(/\/+$/, '') === b.replace(/\/+$/, '');
}

/** A card of 1.0, of 0.3, or one with the fields of both, as one of 1.0; null for what is none. */
export function parseCard(found: unknown): AgentCard | null {
  try {
    const card = new DefaultAgentCardResolver({ legacyCompat: { enabled: true } }).normalizeAgentCard(found);
    return Array.isArray(card.supportedInterfaces) && card.supportedInterfaces.length > 0 ? card : null;
  } catch {
    return null;
  }
}

/** The first interface whose binding we speak, in the newest version of that binding that the card offers at that place or elsewhere. */
export function chooseInterface(card: AgentCard, binding: string | undefined): AgentInterface {
  const spoken = card.supportedInterfaces.filter((one) => {
    const name = one.protocolBinding.toUpperCase();
    // The service of 0.3 has another name over gRPC.
    const versions = name === 'GRPC' ? /^1(\..*)?$/ : /^(|0\.3(\..*)?|1(\..*)?)$/;
    return BINDINGS.includes(name) && (binding === undefined || name === binding) && versions.test(one.protocolVersion ?? '');
  });
  const [first] = spoken;
  if (first === undefined) {
    const offered = card.supportedInterfaces.map((one) => `${one.protocolBinding} ${one.protocolVersion}`).join(', ');
    throw fault('configuration', `The agent offers ${offered}; ${binding ?? 'JSONRPC and HTTP+JSON in version 1.0 or 0.3, and GRPC'} in version 1.0${binding === undefined || binding === 'GRPC' ? '' : ' or 0.3'} can be called`);
  }
  const sameBinding = spoken.filter((one) => one.protocolBinding.toUpperCase() === first.protocolBinding.toUpperCase());
  return sameBinding.find((one) => one.protocolVersion?.startsWith('1') === true) ?? first;
}
