/**
 * Servers that are never reachable, whatever EGRESS_ALLOW says: the installation's own servers and those in
 * EGRESS_DENY.
 */
import ipaddr from 'ipaddr.js';

/**
 * `host` is a name, `*.domain`, an address, or a network such as `10.0.0.0/8`. A null port means every port.
 */
export interface DeniedServer {
  host: string;
  port: number | null;
}

export interface OwnServers {
  /** Never reachable. */
  servers: readonly DeniedServer[];
  /** Addresses of the API. It may be called (its agents, for example), except for its operations paths. */
  api: readonly DeniedServer[];
}

export interface Denial {
  /**
   * Whether a connection is refused.
   * @param address null before the DNS lookup: then only the name is checked
   * @param operations whether the request is for an operations path of the API
   */
  refuses(hostname: string, address: string | null, port: number, operations: boolean): boolean;
}

export interface Denials {
  /** The denial with the current addresses of the denied names. */
  current(): Promise<Denial>;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Lookup = (hostname: string) => Promise<{ address: string }[]>;
/** Type of `networkInterfaces` in `node:os`. */
type Interfaces = () => Record<string, { address: string }[] | undefined>;

interface Entry {
  port: number | null;
  name: string | null;
  suffix: string | null;
  network: [Address, number] | null;
}

/** Resolved names and the machine's addresses are refreshed when older than this. */
const KNOWN_MS = 30_000;
const OPERATIONS = new Set(['temporal-codec', 'metrics']);

export function createDenials(
  { servers, api }: OwnServers,
  resolve: Lookup,
  interfaces: Interfaces,
): Denials {
  const denied = servers.map(parseEntry);
  const ownApi = api.map(parseEntry);
  const addresses = new KnownAddresses([...denied, ...ownApi], resolve, interfaces);
  const denial: Denial = {
    refuses(hostname, address, port, operations) {
      const parsed = address === null ? null : parse(address);
      const plainName = hostname.toLowerCase().replace(/\.$/, '');
      const applies = (entry: Entry): boolean =>
        (entry.port === null || entry.port === port) &&
        (address === null || parsed !== null) &&
        matches(entry, plainName, parsed, addresses);
      return denied.some(applies) || (operations && ownApi.some(applies));
    },
  };
  return {
    async current() {
      await addresses.refresh();
      return denial;
    },
  };
}

/** The addresses of the entries' names, and those of this machine. */
class KnownAddresses {
  readonly #names: ReadonlySet<string>;
  readonly #resolve: Lookup;
  readonly #interfaces: Interfaces;
  readonly #resolved = new Map<string, Address[]>();
  #machine: Address[] = [];
  #readAt = -Infinity;
  #reading: Promise<void> | null = null;

  constructor(entries: readonly Entry[], resolve: Lookup, interfaces: Interfaces) {
    this.#names = new Set(entries.flatMap(({ name }) => name ?? []));
    this.#resolve = resolve;
    this.#interfaces = interfaces;
  }

  /** Reads them again when they are old. Only the first call waits for DNS. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#readAt <= KNOWN_MS) return;
    this.#reading ??= this.#read().finally(() => (this.#reading = null));
    if (this.#readAt === -Infinity) await this.#reading;
  }

  of(name: string | null): readonly Address[] {
    return this.#resolved.get(name ?? '') ?? [];
  }

  isMachine(address: Address): boolean {
    return (
      ['loopback', 'unspecified'].includes(address.range()) ||
      this.#machine.some((own) => own.toString() === address.toString())
    );
  }

  async #read(): Promise<void> {
    this.#machine = addressesIn(Object.values(this.#interfaces()).flatMap((all) => all ?? []));
    await Promise.all(
      [...this.#names].map(async (name) => {
        // If a lookup fails, keep the previous addresses.
        const found = await this.#resolve(name).catch(() => null);
        if (found) this.#resolved.set(name, addressesIn(found));
      }),
    );
    this.#readAt = performance.now();
  }
}

function addressesIn(found: readonly { address: string }[]): Address[] {
  return found.flatMap(({ address }) => parse(address) ?? []);
}

/** `address` is null before the DNS lookup: then only the name is compared. */
function matches(entry: Entry, hostname: string, address: Address | null, known: KnownAddresses): boolean {
  if (entry.suffix !== null) return hostname.endsWith(entry.suffix);
  if (address === null) return hostname === entry.name;
  if (entry.network !== null) return inNetwork(address, entry.network, known);
  const addresses = known.of(entry.name);
  return (
    hostname === entry.name ||
    (known.isMachine(address) &&
      (isLocalhost(entry.name) || addresses.some((own) => known.isMachine(own)))) ||
    addresses.some((own) => own.toString() === address.toString())
  );
}

/** One address of this machine stands for all of them. */
function inNetwork(address: Address, [network, bits]: [Address, number], known: KnownAddresses): boolean {
  const isSingle = bits === (network.kind() === 'ipv4' ? 32 : 128);
  return (
    (isSingle && known.isMachine(network) && known.isMachine(address)) ||
    (network.kind() === address.kind() && address.match(network, bits))
  );
}

/** Whether a path would lead to the codec or metrics endpoint of the API, in any encoding. */
export function isOperationsPath(pathname: string): boolean {
  let path = pathname;
  for (let depth = 0; depth < 3 && path.includes('%'); depth++)
    path = path.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return path
    .toLowerCase()
    .split(/[/\\]/)
    .some((segment) => OPERATIONS.has(segment.replace(/;.*$/, '')));
}

function parseEntry({ host, port }: DeniedServer): Entry {
  const text = host
    .trim()
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/^\[(.*)\](\/\d+)$/, '$1$2');
  const entry: Entry = { port, name: null, suffix: null, network: null };
  if (text.startsWith('*.')) return { ...entry, suffix: text.slice(1) };
  if (ipaddr.isValidCIDR(text)) return { ...entry, network: ipaddr.parseCIDR(text) };
  const address = parse(text);
  if (address === null) return { ...entry, name: text.replace(/\.$/, '') };
  return { ...entry, network: [address, address.kind() === 'ipv4' ? 32 : 128] };
}

/** Parses an address. IPv6 addresses that represent IPv4 (mapped, or NAT64) become IPv4. Null for a name. */
function parse(text: string): Address | null {
  const bare = text.replace(/%.*$/, '');
  if (!ipaddr.IPv6.isValid(bare) && !ipaddr.IPv4.isValidFourPartDecimal(bare)) return null;
  const address = ipaddr.process(bare);
  if (address.kind() === 'ipv6' && address.range() === 'rfc6052')
    return ipaddr.IPv4.parse(address.toByteArray().slice(12).join('.'));
  return address;
}

function isLocalhost(name: string | null): boolean {
  return name === 'localhost' || name?.endsWith('.localhost') === true;
}
