import { fault } from '../../contracts/fault.ts';
import type { Denial, Denials } from '../../contracts/egress-denied.ts';
import type { EgressRules } from '../../contracts/egress-rules.ts';
import type { HostLookup } from './egress.ts';

/** What decides on a connection: the settings, this installation's own servers, and DNS. */
export interface EgressGuard {
  rules: EgressRules;
  denials: Denials;
  lookup: HostLookup;
}

export interface Destination {
  hostname: string;
  /** The addresses of the host, of which any may be connected to. */
  addresses: readonly string[];
  port: number;
  /** EGRESS_HOST_MAP names it as a target: trusted, except for this installation's own servers. */
  mapped: boolean;
  /** Only hosts that EGRESS_ALLOW names may be called in this way, because it is without TLS. */
  mustBeNamed: boolean;
  /** Whether the path is one of the API's operations endpoints. */
  operations: boolean;
}

/** Throws `Fault` unless every address of the destination may be called. */
export async function checkDestination(
  { rules, denials }: Pick<EgressGuard, 'rules' | 'denials'>,
  to: Destination,
): Promise<void> {
  refuseOwnServers(await denials.current(), to);
  if (!to.mapped) refuseByRules(rules, to);
}

function refuseOwnServers(denial: Denial, { hostname, addresses, port, operations }: Destination): void {
  if (!addresses.some((address) => denial.refuses(hostname, address, port, operations))) return;
  const reason = operations
    ? 'its operation is not for agents'
    : 'it is a server of this installation, or the setting EGRESS_DENY names it';
  throw fault('authorization', `Calling ${hostname} on port ${port} is not allowed: ${reason}`);
}

function refuseByRules(rules: EgressRules, { hostname, addresses, mustBeNamed }: Destination): void {
  for (const address of addresses) {
    const refusal = rules.refusal(hostname, address);
    if (refusal !== null)
      throw fault(
        'authorization',
        `Calling ${hostname} is not allowed: it is ${refusal} (see the setting EGRESS_ALLOW)`,
      );
    if (mustBeNamed && !rules.named(hostname, address))
      throw fault(
        'authorization',
        `Calling ${hostname} without TLS is not allowed: use https (see the setting EGRESS_ALLOW)`,
      );
  }
}
