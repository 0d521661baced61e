/**
 * Parses `Range` (RFC 9110 section 14) for one range of bytes. Multiple ranges and malformed headers are
 * ignored.
 */
import type { ByteRange } from './ports.ts';

/** The range within `size` bytes; `none` to send everything; `unsatisfiable` for 416. */
export function parseRange(header: string, size: number): ByteRange | 'none' | 'unsatisfiable' {
  const found = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header.trim());
  const [, first = '', last = ''] = found ?? [];
  if (first === '' && last === '') return 'none';
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return 'none';
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}
