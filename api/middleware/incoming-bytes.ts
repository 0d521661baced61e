/**
 * Limits how much memory of this process one caller fills with request bodies, which are buffered until they
 * are processed.
 */
import { AppError } from '../../domain/errors.ts';

/** Four bodies of the largest limit, or 32 ordinary ones at their limit. */
const MAX_BYTES = 64 * 1024 * 1024;

const heldBytes = new Map<string, number>();

export interface IncomingBytes {
  /** @throws 429 `too_many_bytes` if the caller's buffered bodies exceed 64 MiB */
  add(bytes: number): void;
  /** Releases all added bytes. Idempotent. */
  release(): void;
}

/** @param caller a user's id, or the address of an unauthenticated client */
export function incomingBytes(caller: string): IncomingBytes {
  let added = 0;
  const change = (bytes: number): void => {
    added += bytes;
    const total = (heldBytes.get(caller) ?? 0) + bytes;
    if (total > 0) heldBytes.set(caller, total);
    else heldBytes.delete(caller);
  };
  return {
    add(bytes) {
      change(bytes);
      if ((heldBytes.get(caller) ?? 0) <= MAX_BYTES) return;
      const detail =
        `You have more than ${MAX_BYTES / 1024 / 1024} MiB of request bodies in progress: ` +
        'wait for their responses.';
      throw new AppError('too_many_requests', 'too_many_bytes', detail, { headers: { 'Retry-After': '5' } });
    },
    release: () => change(-added),
  };
}
