/** HTTP clients of undici that connect only to addresses which the egress rules allow. */
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { checkDestination, type EgressGuard } from './check-destination.ts';
import { portOf, withoutBrackets } from './web-url.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const MAX_CONNECTORS = 256;

/** What a request allows beyond the rules, or refuses. */
export interface ConnectionChecks {
  /** The request goes to a target of EGRESS_HOST_MAP. */
  mapped: boolean;
  /** Without TLS, only hosts that EGRESS_ALLOW names may be called. */
  plainOnlyAllowed: boolean;
  /** The path is one of the API's operations endpoints. */
  operations: boolean;
}

export class CheckedAgents {
  readonly #guard: EgressGuard;
  readonly #agents = new Map<string, Agent>();

  constructor(guard: EgressGuard) {
    this.#guard = guard;
  }

  /** One agent for each set of checks, so that a connection is never reused under other checks. */
  agentFor(checks: ConnectionChecks): Agent {
    const key = JSON.stringify([checks.mapped, checks.plainOnlyAllowed, checks.operations]);
    const agent = this.#agents.get(key) ?? checkedAgent(this.#guard, checks);
    this.#agents.set(key, agent);
    return agent;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }
}

function checkedAgent(guard: EgressGuard, checks: ConnectionChecks): Agent {
  const connector = new CheckedConnector(guard, checks);
  return new Agent({ allowH2: false, connect: connector.connect });
}

type Connect = ReturnType<typeof buildConnector>;

/** Opens sockets, each to an address that was checked after the only lookup of its name. */
class CheckedConnector {
  readonly #guard: EgressGuard;
  readonly #checks: ConnectionChecks;
  /** By port and protocol, which a lookup is not given and the checks need. */
  readonly #connectors = new Map<string, Connect>();

  constructor(guard: EgressGuard, checks: ConnectionChecks) {
    this.#guard = guard;
    this.#checks = checks;
  }

  readonly connect: Connect = (options, callback) => {
    const port = portOf(options);
    const plain = options.protocol === 'http:';
    const connect = (): void => this.#connectorFor(port, plain)(options, callback);
    const host = withoutBrackets(options.hostname);
    if (isIP(host) === 0) return connect();
    // Node does not look up IP addresses, so they are checked here.
    this.#check(host, [host], port, plain).then(connect, (error: Error) => callback(error, null));
  };

  #connectorFor(port: number, plain: boolean): Connect {
    const key = `${port} ${plain}`;
    const connector =
      this.#connectors.get(key) ??
      buildConnector({
        lookup: this.#checkedLookup(port, plain),
        allowH2: false,
        timeout: CONNECT_TIMEOUT_MS,
      });
    // Connectors hold TLS sessions, which can be established again.
    if (this.#connectors.size >= MAX_CONNECTORS) this.#connectors.clear();
    this.#connectors.set(key, connector);
    return connector;
  }

  #checkedLookup(port: number, plain: boolean): LookupFunction {
    return (hostname, options, callback) => {
      this.#lookUp(hostname, port, plain).then(
        (found) => {
          if (options.all === true) callback(null, found);
          else callback(null, found[0].address, found[0].family);
        },
        (error: Error) => callback(error, '', 0),
      );
    };
  }

  async #lookUp(hostname: string, port: number, plain: boolean): Promise<Found> {
    const found = await this.#guard.lookup(hostname);
    const addresses = found.map(({ address }) => address);
    await this.#check(hostname, addresses, port, plain);
    const [first, ...others] = found;
    if (first === undefined) throw new Error(`${hostname} has no address`);
    return [first, ...others];
  }

  async #check(hostname: string, addresses: readonly string[], port: number, plain: boolean): Promise<void> {
    const { mapped, operations, plainOnlyAllowed } = this.#checks;
    const mustBeNamed = plain && plainOnlyAllowed;
    await checkDestination(this.#guard, { hostname, addresses, port, mapped, mustBeNamed, operations });
  }
}

type Address = { address: string; family: number };
type Found = [Address, ...Address[]];
