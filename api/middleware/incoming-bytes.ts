/**
 * Limits how much memory of this process one caller fills with request bodies, which are buffered until they
 * are processed.
 */
import { AppError } from '../../domain/errors.ts';

const MIB = 1024 * 1024;
/** Four bodies of the largest limit, or 32 ordinary ones at their limit. */
const MAX_BYTES = 64 * MIB;
/** Of all clients without a log-in together, but for small bodies: anybody can have many addresses. */
const MAX_ANONYMOUS_BYTES = 4 * MAX_BYTES;

const heldBytes = new Map<string, number>();
let anonymousBytes = 0;

export interface IncomingBytes {
  /** @throws 429 `too_many_bytes` above 64 MiB of the caller, or 256 MiB of all without a log-in */
  add(bytes: number): void;
  /** Releases all added bytes. Idempotent. */
  release(): void;
}

/**
 * @param caller a user's id, or the address of a client without a log-in
 * @param isAnonymous counts with all others without a log-in
 */
export function incomingBytes(caller: string, isAnonymous: boolean): IncomingBytes {
  let added = 0;
  const change = (bytes: number): void => {
    added += bytes;
    if (isAnonymous) anonymousBytes += bytes;
    const total = (heldBytes.get(caller) ?? 0) + bytes;
    if (total > 0) heldBytes.set(caller, total);
    else heldBytes.delete(caller);
  };
  return {
    add(bytes) {
      change(bytes);
      const isOver = (heldBytes.get(caller) ?? 0) > MAX_BYTES;
      if (!isOver && !(isAnonymous && anonymousBytes > MAX_ANONYMOUS_BYTES)) return;
      const detail = isOver
        ? `You have more than ${MAX_BYTES / MIB} MiB of request bodies in progress: wait for their responses.`
        : `Clients without a log-in have more than ${MAX_ANONYMOUS_BYTES / MIB} MiB of bodies in progress.`;
      throw new AppError('too_many_requests', 'too_many_bytes', detail, { headers: { 'Retry-After': '5' } });
    },
    release: () => change(-added),
  };
}
