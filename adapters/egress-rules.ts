/** Which hosts and addresses agents and workflows may reach: the parsed settings EGRESS_ALLOW and EGRESS_HOST_MAP. */
import ipaddr from 'ipaddr.js';

export interface EgressRules {
  /** Why an address is refused for this host, in words for users; null when it may be called. */
  refusal(hostname: string, address: string): string | null;
  /** Whether the operator named it in EGRESS_ALLOW; what is merely public is not. */
  named(hostname: string, address: string): boolean;
  /** The origin that stands in for another one, null for most. */
  mapped(origin: string): string | null;
}

/** Addresses in public ranges that answer only a cloud's own machines. */
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

/** Throws an Error that names the faulty entry. */
export function parseEgressRules(settings: EgressSettings): EgressRules {
  const names = new Set<string>();
  const suffixes: string[] = [];
  const networks: [ipaddr.IPv4 | ipaddr.IPv6, number][] = [];
  for (const entry of (settings.allow ?? []).map((each) => each.trim().toLowerCase())) {
    const network = parseNetwork(entry);
    if (network !== null) networks.push(network);
    else if (/^\*\.[a-z0-9.-]+$/.test(entry)) suffixes.push(entry.slice(1));
    else if (/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(entry)) names.add(entry);
    else throw new Error(`EGRESS_ALLOW: "${entry}" is neither a host name, an address nor a network`);
  }
  const map = new Map((settings.hostMap ?? []).map(({ from, to }) => [new URL(from).origin, new URL(to).origin]));

  const allowed = (hostname: string, address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
    names.has(hostname) ||
    suffixes.some((suffix) => hostname.endsWith(suffix)) ||
    networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));

  return {
    mapped: (origin) => map.get(origin) ?? null,
    named: (hostname, address) => allowed(plainName(hostname), ipaddr.process(address)),
    refusal(hostname, address) {
      // A mapped IPv6 address reaches the IPv4 one, so that one is judged.
      const parsed = ipaddr.process(address);
      if (allowed(plainName(hostname), parsed)) return null;
      if (METADATA_ADDRESSES.has(parsed.toString())) return "a cloud's metadata address";
      const range = parsed.range();
      if (range !== 'unicast') return RANGE_WORDS[range] ?? 'a reserved address';
      // Outside 2000::/3 nothing is assigned for public use, IPv4-compatible addresses among it.
      if (parsed.kind() === 'ipv6' && !parsed.match(ipaddr.IPv6.parse('2000::'), 3)) return 'a reserved address';
      return null;
    },
  };
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
