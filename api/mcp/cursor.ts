/** Cursors of lists: which list, and the id of the last record shown. */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

import { isUuid } from '../../contracts/uuid.ts';

export type Cursor = [list: string, after: string | undefined];

export function encodeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

/** @throws ProtocolError for a cursor that is not ours */
export function decodeCursor(text: string): Cursor {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (Array.isArray(value) && typeof value[0] === 'string') {
      const after: unknown = value[1];
      if (after === undefined || after === null) return [value[0], undefined];
      if (typeof after === 'string' && isUuid(after)) return [value[0], after];
    }
  } catch {
    // Not a cursor either.
  }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'cursor is none of those that this server gave');
}
