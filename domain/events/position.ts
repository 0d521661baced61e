/**
 * Positions in the log of all runs: (transaction, position) of a `run_event`. Readers stop before the oldest
 * open transaction, so no event can be committed behind a position that was read.
 */
import { badRequest } from '../errors.ts';

/** Both are 64-bit numbers, as text. */
export interface Position {
  tx: string;
  gpos: string;
}

/** The position after everything that is older than this transaction. */
export function positionBefore(oldestOpenTx: string): Position {
  return { tx: oldestOpenTx, gpos: '-1' };
}

export function isAfter(left: Position, right: Position): boolean {
  const [leftTx, rightTx] = [BigInt(left.tx), BigInt(right.tx)];
  return leftTx === rightTx ? BigInt(left.gpos) > BigInt(right.gpos) : leftTx > rightTx;
}

/** Opaque for clients. */
export function encodePosition({ tx, gpos }: Position): string {
  return Buffer.from(`${tx}.${gpos}`).toString('base64url');
}

const MAX = 2n ** 63n - 1n;

/** @throws 400 for a text that is not a position */
export function decodePosition(text: string): Position {
  const found = /^(\d{1,19})\.(-1|\d{1,19})$/.exec(Buffer.from(text, 'base64url').toString('latin1'));
  const [, tx = '', gpos = ''] = found ?? [];
  if (!found || BigInt(tx) > MAX || BigInt(gpos) > MAX) {
    throw badRequest('invalid_last_event_id', 'Last-Event-ID must be the id of an event of this stream.');
  }
  return { tx, gpos };
}
