/**
 * Files in the ProtoJSON of 0.3 as the official Python client has them: it takes base64 for the bytes, so that they are encoded
 * twice on the wire. Who else speaks this dialect (the JS client) encodes them once, as ProtoJSON has it. Pure.
 */
import { isRecord } from '../../contracts/is-record.ts';

type Change = (text: string) => string;

/** Whether the request is from a client that is built as the official one is. */
export function isPythonClient(userAgent: string): boolean {
  return /^python-httpx\b/i.test(userAgent);
}

/** What the client sent, its files encoded once; a file that is not encoded twice stays as it is. */
export function decodedOnce(body: unknown): unknown {
  return mapFiles(body, (text) => {
    const inner = Buffer.from(text, 'base64').toString('latin1');
    return inner !== '' && Buffer.from(inner, 'base64').toString('base64') === inner ? inner : text;
  });
}

/** What the client gets. */
export function encodedTwice(answer: unknown): unknown {
  return mapFiles(answer, (text) => Buffer.from(text, 'latin1').toString('base64'));
}

/** Copies; what is the user's own (data, metadata) is left alone. */
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
