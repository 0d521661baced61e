/**
 * Idempotency key of a call made by a run. HTTP calls send it as `Idempotency-Key`, A2A messages in their
 * metadata. If the call starts another run on this platform, that run learns which run called it.
 */
import type { InvocationRef } from './activities.ts';
import { isLowercaseUuid } from './uuid.ts';

/** Key in an A2A message's metadata. */
export const INVOCATION_METADATA = 'io.cadenza.invocation';

const KEY = /^([^:]+):.{1,4000}$/s;

/** Equal in every Temporal attempt; different in every visit and DSL attempt. */
export function invocationKey(runId: string, ref: InvocationRef & { round?: number }): string {
  const key = `${runId}:${ref.task}:${ref.visit}:${ref.attempt}`;
  return ref.round === undefined ? key : `${key}:${ref.round}`;
}

const AGAIN = ':again';

/** Of the second request of one call, which is not the first one repeated. */
export function keyOfSecondRequest(key: string): string {
  return `${key}${AGAIN}`;
}

/** The run id in a key; null if it is not an invocation key. */
export function parseInvocationKey(key: string): string | null {
  const runId = KEY.exec(key)?.[1];
  return runId !== undefined && isLowercaseUuid(runId) ? runId : null;
}

const HEADER_LENGTH = 255;

/** What stands for the end of a key that is cut. */
const DIGEST = /~[0-9a-f]{16}$/;
const DIGEST_LENGTH = 17;

/** Encodes a key for a header, at most 255 characters. Keys that are cut differ by a digest at the end. */
export function toHeader(key: string): string {
  const encoded = encodeURI(key.toWellFormed());
  if (encoded.length <= HEADER_LENGTH) return encoded;
  return `${encoded.slice(0, HEADER_LENGTH - DIGEST_LENGTH)}~${digestOf(encoded)}`;
}

/** FNV-1a of ASCII, 64 bits. Workflow code has no other, and a collision would harm only the run itself. */
function digestOf(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let index = 0; index < text.length; index++)
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(index))) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}

/**
 * The key of the invocation in a header from `toHeader`; null if it is invalid. `cut` means that the key may
 * be longer: it is only the beginning.
 */
export function fromHeader(header: string): { key: string; cut: boolean } | null {
  const cut = header.length >= HEADER_LENGTH;
  try {
    // The cut may be inside an encoded character.
    const key = decodeURI(cut ? header.replace(DIGEST, '').replace(/(?:%[0-9A-F]{0,2})+$/, '') : header);
    return { key: key.endsWith(AGAIN) ? key.slice(0, -AGAIN.length) : key, cut };
  } catch {
    return null;
  }
}
