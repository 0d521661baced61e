/** An answer whose content is a file: streamed to the store instead of being read whole. */
import * as contentDisposition from 'content-disposition';
import type { CallFiles, FileReference } from '../domain/ports.ts';
import type { AnswerHead } from './egress.ts';
import { isTextual } from './http-message.ts';

/** Whether an answer's content is kept as a file where nothing says so: neither JSON nor text, or a text to be saved as a file. */
export function isFileAnswer({ headers }: AnswerHead): boolean {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === '') return false;
  return !isTextual(type) || (type.startsWith('text/') && /^\s*attachment\b/i.test(headers['content-disposition'] ?? ''));
}

/** The file that an answer's body became; null for a body without a byte. */
export async function storeAnswer(head: AnswerHead, body: AsyncIterable<Uint8Array>, files: CallFiles): Promise<FileReference | null> {
  const chunks = body[Symbol.asyncIterator]();
  let first = await chunks.next();
  while (first.done !== true && first.value.length === 0) first = await chunks.next();
  if (first.done === true) return null;
  const { value } = first;
  const whole = async function* (): AsyncGenerator<Uint8Array> {
    yield value;
    yield* { [Symbol.asyncIterator]: () => chunks };
  };
  return files.store(whole(), { name: fileNameOf(head), media_type: head.headers['content-type'] ?? 'application/octet-stream' });
}

/** From `Content-Disposition`, else the end of the address. */
export function fileNameOf({ headers, url }: Pick<AnswerHead, 'headers' | 'url'>): string {
  try {
    const given = contentDisposition.parse(headers['content-disposition'] ?? '').parameters.filename;
    if (given) return given;
  } catch {
    // The address names it, then.
  }
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last) || 'file';
  } catch {
    return last;
  }
}
