/** Responses that are files: streamed to the store instead of being read completely. */
import * as contentDisposition from 'content-disposition';
import type { CallFiles, FileReference } from '../../domain/ports.ts';
import type { AnswerHead } from '../egress/egress.ts';
import { isTextual } from '../http/media-types.ts';

/**
 * Whether a response is stored as a file when the configuration does not say: its content is neither JSON nor
 * text, or it is a text attachment.
 */
export function isFileAnswer({ headers }: AnswerHead): boolean {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === '') return false;
  return (
    !isTextual(type) ||
    (type.startsWith('text/') && /^\s*attachment\b/i.test(headers['content-disposition'] ?? ''))
  );
}

/** Stores the response body as a file; null for an empty body. */
export async function storeAnswer(
  head: AnswerHead,
  body: AsyncIterable<Uint8Array>,
  files: CallFiles,
): Promise<FileReference | null> {
  const chunks = body[Symbol.asyncIterator]();
  let first = await chunks.next();
  while (first.done !== true && first.value.length === 0) first = await chunks.next();
  if (first.done === true) return null;
  const { value } = first;
  const whole = async function* (): AsyncGenerator<Uint8Array> {
    yield value;
    yield* { [Symbol.asyncIterator]: () => chunks };
  };
  return files.store(whole(), {
    name: fileNameOf(head),
    media_type: head.headers['content-type'] ?? 'application/octet-stream',
  });
}

/** From `Content-Disposition`, else the last segment of the URL. */
export function fileNameOf({ headers, url }: Pick<AnswerHead, 'headers' | 'url'>): string {
  try {
    const filename = contentDisposition.parse(headers['content-disposition'] ?? '').parameters.filename;
    if (filename) return filename;
  } catch {
    // Fall back to the name in the URL.
  }
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last) || 'file';
  } catch {
    return last;
  }
}
