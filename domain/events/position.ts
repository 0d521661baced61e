/**
 * Places in the log of all runs: (transaction, position) of a `run_event`. Only what is older than every transaction still
 * open is read, so that nothing can commit behind a place that was reached.
 */
import { badRequest } from '../errors.ts';

/** Both are 64-bit numbers, as text. */
export interface Position {
  tx: string;
  gpos: string;
}

/** Behind everything that a reader with this as the oldest open transaction has read. */
export function positionBefore(oldestOpenTx: string): Position {
  return { tx: oldestOpenTx, gpos: '-1' };
}

/** Opaque for clients. */
export function encodePosition({ tx, gpos }: Position): string {
  return Buffer.from(`${tx}.${gpos}`).toString('base64url');
}

const MAX = 2n ** 63n - 1n;

/** @throws 400 for what is no position of ours. */
export function decodePosition(text: string): Position {
  const found = /^(\d{1,19})\.(-1|\d{1,19})$/.exec(Buffer.from(text, 'base64url').toString('latin1'));
  const [, tx = '', gpos = ''] = found ?? [];
  if (!found || BigInt(tx) > MAX || BigInt(gpos) > MAX) {
    throw badRequest('invalid_last_event_id', 'Last-Event-ID must be the id of an event of this stream.');
  }
  return { tx, gpos };
}
