/** Request bodies out of the platform's files: one file as it is, or `multipart/form-data` (RFC 7578). Streamed; the size is known before. */
import { randomBytes } from 'node:crypto';
import { fault } from '../contracts/fault.ts';
import type { CallFiles } from '../domain/ports.ts';
import type { StreamBody } from './egress.ts';
import { isFileReference, openReference, referencesIn } from './file-references.ts';

export interface FileBody {
  body: StreamBody;
  contentType: string;
}

/** The one file in the value. */
export async function oneFileBody(value: unknown, files: CallFiles): Promise<FileBody> {
  const [reference, ...more] = referencesIn(value);
  if (reference === undefined || more.length > 0) throw fault('validation', `The body is to be one file, and there are ${reference === undefined ? 'none' : more.length + 1} in it`);
  const file = await openReference(reference, files);
  return { body: { size: file.size, open: () => file.chunks() }, contentType: reference.media_type ?? file.media_type };
}

/** Each field of the object; lists repeat theirs, null is left out. Texts go as they are, files with name and type, all else as JSON. */
export async function multipartBody(value: unknown, files: CallFiles): Promise<FileBody> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fault('validation', 'A multipart body is made of the fields of an object');
  const boundary = `cadenza-${randomBytes(18).toString('hex')}`;
  const parts: (Buffer | StreamBody)[] = [];
  for (const [name, given] of Object.entries(value)) {
    for (const one of Array.isArray(given) ? (given as unknown[]) : [given]) {
      if (one === null || one === undefined) continue;
      const field = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
      if (isFileReference(one)) {
        const file = await openReference(one, files);
        parts.push(Buffer.from(`${field}; filename="${quoted(one.name ?? file.name)}"\r\nContent-Type: ${one.media_type ?? file.media_type}\r\n\r\n`), { size: file.size, open: () => file.chunks() }, Buffer.from('\r\n'));
      } else if (typeof one === 'string') parts.push(Buffer.from(`${field}\r\n\r\n${one}\r\n`));
      else parts.push(Buffer.from(`${field}\r\n${typeof one === 'object' ? 'Content-Type: application/json\r\n' : ''}\r\n${JSON.stringify(one)}\r\n`));
    }
  }
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  const size = parts.reduce((sum, part) => sum + (Buffer.isBuffer(part) ? part.length : part.size), 0);
  const open = async (): Promise<AsyncIterable<Uint8Array>> => joined(parts);
  return { body: { size, open }, contentType: `multipart/form-data; boundary=${boundary}` };
}

async function* joined(parts: readonly (Buffer | StreamBody)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    if (Buffer.isBuffer(part)) yield part;
    else yield* await part.open();
  }
}

/** As browsers write names in a form. */
function quoted(name: string): string {
  return name.toWellFormed().replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
