/**
 * Under which names the MCP server may be addressed. A page of a foreign site can let its own name lead to a
 * server in the local network (DNS rebinding), and would then be of the same origin. Only a name that the
 * site's owner controls can be used for that: no address, and no name without a dot.
 */
import { isIP } from 'node:net';

import type { Env } from '../../config/env.ts';

export function knownHosts(env: Pick<Env, 'BASE_URL' | 'CORS_ORIGINS' | 'ALLOWED_HOSTS'>): Set<string> {
  return new Set([
    ...[env.BASE_URL, ...env.CORS_ORIGINS].map((url) => new URL(url).hostname),
    ...env.ALLOWED_HOSTS,
  ]);
}

/** `host`: of the request, with its port if it has one. */
export function isKnownHost(known: ReadonlySet<string>, host: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  const name = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return known.has(name) || isIP(name) !== 0 || !name.includes('.') || name.endsWith('.localhost');
}
