/**
 * Egress rules: the hosts and addresses that agents and workflows may reach, from the settings EGRESS_ALLOW
 * and EGRESS_HOST_MAP.
 */
import ipaddr from 'ipaddr.js';
import { isOperationsPath, type Denial } from './egress-denied.ts';

export interface EgressRules {
  /** Why an address is refused for this host, as text for users; null if it is allowed. */
  refusal(hostname: string, address: string): string | null;
  /** Whether EGRESS_ALLOW lists it explicitly; merely public addresses are not listed. */
  named(hostname: string, address: string): boolean;
  /** Whether EGRESS_ALLOW lists this name, or a network, in which its address may be. */
  mayBeNamed(hostname: string): boolean;
  /** The origin that replaces another one; usually null. */
  mapped(origin: string): string | null;
}

/** Addresses in public ranges that are reachable only from a cloud's own machines. */
const METADATA_ADDRESSES = new Set(['168.63.129.16']);

const RANGE_WORDS: Record<string, string> = {
  private: 'a private address',
  uniqueLocal: 'a private address',
  loopback: 'a loopback address',
  linkLocal: 'a link-local address',
  carrierGradeNat: 'a carrier-grade NAT address',
  multicast: 'a multicast address',
  unspecified: 'an unspecified address',
};

export interface EgressSettings {
  /** Host names, `*.domain`, addresses and networks such as `10.0.0.0/8`. */
  allow?: readonly string[];
  /** Origins that stand in for others, such as `https://api.example.com` → `http://127.0.0.1:9000`. */
  hostMap?: readonly { from: string; to: string }[];
}

/** @throws Error that names the invalid entry */
export function parseEgressRules(settings: EgressSettings): EgressRules {
  const names = new Set<string>();
  const suffixes: string[] = [];
  const networks: [ipaddr.IPv4 | ipaddr.IPv6, number][] = [];
  for (const entry of (settings.allow ?? []).map((item) => item.trim().toLowerCase())) {
    const network = parseNetwork(entry);
    if (network !== null) networks.push(network);
    else if (/^\*\.[a-z0-9.-]+$/.test(entry)) suffixes.push(entry.slice(1));
    else if (/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(entry)) names.add(entry);
    else throw new Error(`EGRESS_ALLOW: "${entry}" is neither a host name, an address nor a network`);
  }
  const map = new Map(
    (settings.hostMap ?? []).map(({ from, to }) => [new URL(from).origin, new URL(to).origin]),
  );

  const listed = (hostname: string): boolean =>
    names.has(hostname) || suffixes.some((suffix) => hostname.endsWith(suffix));
  const allowed = (hostname: string, address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
    listed(hostname) ||
    networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));

  return {
    mapped: (origin) => map.get(origin) ?? null,
    named: (hostname, address) => allowed(plainName(hostname), ipaddr.process(address)),
    mayBeNamed: (hostname) => networks.length > 0 || listed(plainName(hostname)),
    refusal(hostname, address) {
      // A mapped IPv6 address reaches the IPv4 address, so check that one.
      const parsed = ipaddr.process(address);
      if (allowed(plainName(hostname), parsed)) return null;
      if (METADATA_ADDRESSES.has(parsed.toString())) return "a cloud's metadata address";
      const range = parsed.range();
      if (range !== 'unicast') return RANGE_WORDS[range] ?? 'a reserved address';
      // Only 2000::/3 is assigned for public use. IPv4-compatible addresses, for example, are outside it.
      if (parsed.kind() === 'ipv6' && !parsed.match(ipaddr.IPv6.parse('2000::'), 3))
        return 'a reserved address';
      return null;
    },
  };
}

/** Deliveries are called by https only, but for hosts that EGRESS_ALLOW lists. */
export type CallKind = 'deliveries' | 'calls of agents';

/**
 * Why a call of this URL would be refused, as text that follows "url". Null if that is only known when it is
 * called, because its name has to be resolved. `localhost` counts as an address. `url` is absolute.
 */
export function literalRefusal(rules: EgressRules, denial: Denial, url: URL, kind: CallKind): string | null {
  const mapped = rules.mapped(url.origin);
  const to = mapped === null ? url : new URL(mapped);
  const host = to.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  const address = literalAddress(host);
  const port = Number(to.port) || (to.protocol === 'https:' ? 443 : 80);
  if (denial.refuses(host, address, port, isOperationsPath(url.pathname))) {
    return (
      'leads to a server of this installation or one listed in the setting EGRESS_DENY, ' +
      `which ${kind} cannot reach`
    );
  }
  // The target of a host mapping is trusted, unless it is one of our own servers.
  if (mapped !== null) return null;
  const refusal = address === null ? null : rules.refusal(host, address);
  if (refusal !== null)
    return `leads to ${refusal}, which ${kind} cannot reach (see the setting EGRESS_ALLOW)`;
  if (kind !== 'deliveries' || url.protocol !== 'http:') return null;
  const isListed = address === null ? rules.mayBeNamed(host) : rules.named(host, address);
  return isListed ? null : 'must be https (see the setting EGRESS_ALLOW)';
}

function literalAddress(host: string): string | null {
  if (/(?:^|\.)localhost\.?$/.test(host)) return '127.0.0.1';
  return ipaddr.IPv6.isValid(host) || ipaddr.IPv4.isValidFourPartDecimal(host) ? host : null;
}

function plainName(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}

function parseNetwork(entry: string): [ipaddr.IPv4 | ipaddr.IPv6, number] | null {
  const text = entry.replace(/^\[(.*)\]$/, '$1');
  if (ipaddr.isValidCIDR(text)) {
    const [address, bits] = ipaddr.parseCIDR(text);
    return [address, bits];
  }
  if (!ipaddr.IPv6.isValid(text) && !ipaddr.IPv4.isValidFourPartDecimal(text)) return null;
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}
