/** Where an origin may be connected to: its addresses, each judged before a packet goes there. */
import { isIP } from 'node:net';
import { fault } from '../contracts/fault.ts';
import { connectionFault } from './connection-fault.ts';
import type { EgressRules } from './egress-rules.ts';

/** For protocols other than HTTP/1. */
export interface PinnedOrigin {
  /** IP addresses of one family. */
  addresses: string[];
  family: 4 | 6;
  port: number;
  secure: boolean;
}

type Resolve = (hostname: string) => Promise<{ address: string; family: number }[]>;

/** Throws `Fault`. `plain`: without TLS, where only what EGRESS_ALLOW names may be. */
export function judgeAddresses(rules: EgressRules, hostname: string, addresses: readonly string[], plain = false): void {
  for (const address of addresses) {
    const refusal = rules.refusal(hostname, address);
    if (refusal !== null) {
      throw fault('authorization', `Calling ${hostname} is not allowed: it is ${refusal} (see the setting EGRESS_ALLOW)`);
    }
    if (plain && !rules.named(hostname, address)) {
      throw fault('authorization', `Calling ${hostname} without TLS is not allowed: use https (see the setting EGRESS_ALLOW)`);
    }
  }
}

/** Asks DNS once: who connects to what comes back asks it no more. Throws `Fault`. */
export async function pinOrigin(rules: EgressRules, resolve: Resolve, asked: URL): Promise<PinnedOrigin> {
  const mapped = rules.mapped(asked.origin);
  const url = mapped === null ? asked : new URL(mapped);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const literal = isIP(host);
  const found = literal !== 0 ? [{ address: host, family: literal }] : await resolve(host).catch((error: unknown) => {
    throw connectionFault({ url: asked.href }, error);
  });
  // Where the operator maps a host to, is trusted as it stands.
  if (mapped === null) judgeAddresses(rules, host, found.map(({ address }) => address));
  const [first] = found;
  if (first === undefined) throw fault('communication', `${url.host} has no address in DNS`, { status: 503 });
  const secure = url.protocol === 'https:';
  return {
    addresses: found.flatMap(({ address, family }) => (family === first.family ? [address] : [])),
    family: first.family === 6 ? 6 : 4,
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    secure,
  };
}
