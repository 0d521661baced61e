/** RFC 6901: appends segments to a JSON pointer. */
import { escapeToken } from '../../contracts/json-pointer.ts';

export function pointer(base: string, ...segments: (string | number)[]): string {
  return base + segments.map((segment) => `/${escapeToken(String(segment))}`).join('');
}
