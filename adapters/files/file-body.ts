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
  const fields: FormField[] = [];
  for (const [name, values] of Object.entries(value)) {
    for (const item of Array.isArray(values) ? (values as unknown[]) : [values]) {
      if (item === null || item === undefined) continue;
      if (isFileReference(item)) {
        const file = await openReference(item, files);
        const body = { size: file.size, open: () => file.chunks() };
        fields.push({
          name,
          filename: item.name ?? file.name,
          mediaType: item.media_type ?? file.media_type,
          body,
        });
      } else if (typeof item === 'string') fields.push({ name, text: item });
      else {
        const mediaType = typeof item === 'object' ? { mediaType: 'application/json' } : {};
        fields.push({ name, text: JSON.stringify(item), ...mediaType });
      }
    }
  }
  return formBody(fields);
}

/** A field of a form: a text, or a file. */
export type FormField =
  | { name: string; text: string; mediaType?: string }
  | { name: string; filename: string; mediaType: string; body: StreamBody };

export function formBody(fields: readonly FormField[]): FileBody {
  const boundary = `cadenza-${randomBytes(18).toString('hex')}`;
  const parts: (Buffer | StreamBody)[] = [];
  for (const field of fields) {
    const type =
      field.mediaType === undefined ? '' : `Content-Type: ${field.mediaType.replaceAll(/[\r\n]/g, ' ')}\r\n`;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(field.name)}"`;
    if ('text' in field) parts.push(Buffer.from(`${head}\r\n${type}\r\n${field.text}\r\n`));
    else {
      const filename = quoted(field.filename);
      parts.push(
        Buffer.from(`${head}; filename="${filename}"\r\n${type}\r\n`),
        field.body,
        Buffer.from('\r\n'),
      );
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
