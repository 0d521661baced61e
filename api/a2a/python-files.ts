/**
 * File bytes in the ProtoJSON of 0.3, as the official Python client sends them. That client treats the base64
 * text as bytes and encodes it again. Other clients of this dialect (the JS client) encode once, as ProtoJSON
 * specifies. Pure.
 */
import { isRecord } from '../../contracts/is-record.ts';
import { bytesOfBase64 } from '../../domain/base64.ts';

type Change = (text: string) => string;

/** Whether the user agent is httpx, which the official Python client uses. */
export function isPythonClient(userAgent: string): boolean {
  return /^python-httpx\b/i.test(userAgent);
}

/** Undoes the second encoding of file bytes in a request. Bytes that were encoded once stay as they are. */
export function decodedOnce(body: unknown): unknown {
  return mapFiles(body, (text) => {
    const inner = Buffer.from(text, 'base64').toString('latin1');
    return inner !== '' && bytesOfBase64(inner) !== null ? inner : text;
  });
}

/** Encodes file bytes of a response a second time. */
export function encodedTwice(answer: unknown): unknown {
  return mapFiles(answer, (text) => Buffer.from(text, 'latin1').toString('base64'));
}

/** Returns a copy with file bytes mapped. User data (`data`, `metadata`) is unchanged. */
function mapFiles(value: unknown, change: Change): unknown {
  if (Array.isArray(value)) return value.map((entry) => mapFiles(entry, change));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => {
      if (key === 'data' || key === 'metadata') return [key, entry];
      const isBytes = (key === 'fileWithBytes' || key === 'file_with_bytes') && typeof entry === 'string';
      return [key, isBytes ? change(entry) : mapFiles(entry, change)];
    }),
  );
}
