/**
 * Access tokens whose signature this process has checked, because the same token comes with each request of
 * 15 minutes. That the caller has lost it or a role is not in a signature: rows tell, at each change.
 */
import { hash } from 'node:crypto';

import type { ExpiringClaims } from './access-token.ts';

interface Verified {
  claims: ExpiringClaims;
  /** The key that signed it. */
  kid: string;
}

const MAX_TOKENS = 10_000;

export class VerifiedTokens {
  readonly #verified = new Map<string, Verified>();

  /** What was kept of a token for this audience and has not expired. Ask whether the key is valid. */
  find(audience: string, token: string): Verified | null {
    const found = this.#verified.get(digestOf(audience, token));
    if (found === undefined || found.claims.exp * 1_000 <= Date.now()) return null;
    return { kid: found.kid, claims: { ...found.claims } };
  }

  keep(audience: string, token: string, { claims, kid }: Verified): void {
    if (this.#verified.size >= MAX_TOKENS) this.#verified.clear();
    this.#verified.set(digestOf(audience, token), { kid, claims: { ...claims } });
  }
}

/** The memory of a process holds no token longer than its request. */
function digestOf(audience: string, token: string): string {
  return hash('sha256', `${audience}\n${token}`, 'base64url');
}
