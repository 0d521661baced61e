/**
 * Request bodies from the platform's files: one file unchanged, or `multipart/form-data` (RFC 7578). Bodies
 * are streamed, with their size known in advance.
 */
import { randomBytes } from 'node:crypto';
import { fault } from '../../contracts/fault.ts';
import type { CallFiles } from '../../domain/ports.ts';
import type { StreamBody } from '../egress/egress.ts';
import { isFileReference, openReference, referencesIn } from './file-references.ts';

export interface FileBody {
  body: StreamBody;
  contentType: string;
}

/** The only file in the value. */
export async function oneFileBody(value: unknown, files: CallFiles): Promise<FileBody> {
  const [reference, ...more] = referencesIn(value);
  if (reference === undefined || more.length > 0)
    throw fault(
      'validation',
      'The body must be exactly one file, but contains ' +
        (reference === undefined ? 'none' : String(more.length + 1)),
    );
  const file = await openReference(reference, files);
  return {
    body: { size: file.size, open: () => file.chunks() },
    contentType: reference.media_type ?? file.media_type,
  };
}

/**
 * One part for each field of the object; lists repeat the field, null is left out. Texts are sent unchanged,
 * files with name and type, anything else as JSON.
 */
export async function multipartBody(value: unknown, files: CallFiles): Promise<FileBody> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw fault('validation', 'A multipart body must be an object of its fields');
  const boundary = `cadenza-${randomBytes(18).toString('hex')}`;
  const parts: (Buffer | StreamBody)[] = [];
  for (const [name, values] of Object.entries(value)) {
    for (const item of Array.isArray(values) ? (values as unknown[]) : [values]) {
      if (item === null || item === undefined) continue;
      const field = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
      if (isFileReference(item)) {
        const file = await openReference(item, files);
        const filename = quoted(item.name ?? file.name);
        const mediaType = item.media_type ?? file.media_type;
        parts.push(
          Buffer.from(`${field}; filename="${filename}"\r\nContent-Type: ${mediaType}\r\n\r\n`),
          { size: file.size, open: () => file.chunks() },
          Buffer.from('\r\n'),
        );
      } else if (typeof item === 'string') parts.push(Buffer.from(`${field}\r\n\r\n${item}\r\n`));
      else {
        const type = typeof item === 'object' ? 'Content-Type: application/json\r\n' : '';
        parts.push(Buffer.from(`${field}\r\n${type}\r\n${JSON.stringify(item)}\r\n`));
      }
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

/** Escaped as browsers escape names in forms. */
function quoted(name: string): string {
  return name.toWellFormed().replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
