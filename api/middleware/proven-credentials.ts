import { createHash } from 'node:crypto';

const MAX_KEPT = 10_000;

/**
 * Tokens and cookies that were valid when this process looked them up last. It gives no rights: their rows
 * are read again at each use. It only tells them from junk, so that whoever shares an address with somebody
 * who sends junk goes on.
 */
export class ProvenCredentials {
  /** Digests, the oldest first. */
  readonly #kept = new Set<string>();

  has(credential: string): boolean {
    return this.#kept.has(digest(credential));
  }

  add(credential: string): void {
    const key = digest(credential);
    if (this.#kept.has(key)) return;
    const [oldest] = this.#kept.size >= MAX_KEPT ? this.#kept : [];
    if (oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.add(key);
  }

  delete(credential: string): void {
    this.#kept.delete(digest(credential));
  }
}

function digest(credential: string): string {
  return createHash('sha256').update(credential).digest('base64');
}
