import { isIP } from 'node:net';
import { fault } from '../../contracts/fault.ts';
import { checkDestination, type EgressGuard } from './check-destination.ts';
import { connectionFault } from './connection-fault.ts';
import type { PinnedOrigin } from './egress.ts';
import { portOf, withoutBrackets } from './web-url.ts';

/**
 * Resolves an origin once, and checks each of its addresses before any packet goes there. Throws `Fault`.
 */
export async function pinOrigin(guard: EgressGuard, origin: URL): Promise<PinnedOrigin> {
  const mapped = guard.rules.mapped(origin.origin);
  const url = mapped === null ? origin : new URL(mapped);
  const hostname = withoutBrackets(url.hostname);
  const found = await lookUp(guard, hostname, origin);
  const port = portOf(url);
  await checkDestination(guard, {
    hostname,
    addresses: found.map(({ address }) => address),
    port,
    mapped: mapped !== null,
    mustBeNamed: false,
    operations: false,
  });
  const [first] = found;
  if (first === undefined) throw fault('communication', `${url.host} has no address in DNS`, { status: 503 });
  return {
    addresses: found.flatMap(({ address, family }) => (family === first.family ? [address] : [])),
    family: first.family === 6 ? 6 : 4,
    port,
    secure: url.protocol === 'https:',
  };
}

async function lookUp(
  { lookup }: EgressGuard,
  hostname: string,
  origin: URL,
): Promise<{ address: string; family: number }[]> {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family }];
  try {
    return await lookup(hostname);
  } catch (error) {
    throw connectionFault({ url: origin.href }, error);
  }
}
