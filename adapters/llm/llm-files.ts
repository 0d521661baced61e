/**
 * Files of the input as parts of a chat message. Their content is sent, because a link would be fetched
 * around the egress policy, or not at all.
 */
import { fault } from '../../contracts/fault.ts';
import type { AgentCall } from '../../domain/ports.ts';
import { isFileReference, type StoredReference } from '../files/file-references.ts';
import { isTextual } from '../http/media-types.ts';

export type FilePart =
  { type: 'text'; text: string } | { type: 'file'; data: Uint8Array; mediaType: string; filename: string };

/** The media types that OpenAI-compatible APIs accept. */
const TAKEN = /^(?:image\/.+|audio\/(?:wav|x-wav|mp3|mpeg)|application\/pdf)$/;

/** The stored files in the input's `files`; text files become text. Empty without files. */
export async function fileParts({ input, files }: AgentCall): Promise<FilePart[]> {
  const parts: FilePart[] = [];
  for (const reference of files ? referencesOf(input) : []) {
    const file = await files?.read(reference.file_id);
    if (!file) throw fault('validation', `There is no file ${reference.file_id} that this run may read`);
    const filename = reference.name ?? file.name;
    const mediaType = (reference.media_type ?? file.media_type).split(';')[0]?.trim().toLowerCase() ?? '';
    if (isTextual(mediaType))
      parts.push({ type: 'text', text: `${filename}:\n${Buffer.from(file.bytes).toString()}` });
    else if (TAKEN.test(mediaType)) parts.push({ type: 'file', data: file.bytes, mediaType, filename });
    else
      throw fault(
        'validation',
        `A language model cannot be sent ${filename}: ` +
          `${mediaType} is neither text, image, audio (wav, mp3) nor PDF`,
      );
  }
  return parts;
}

/**
 * The input without its files: the text and the data of `{text, data, files, …}`, the form of A2A messages.
 */
export function textWithFiles(input: unknown): unknown {
  if (
    typeof input !== 'object' ||
    input === null ||
    !('files' in input) ||
    'messages' in input ||
    'prompt' in input
  )
    return input;
  const { files: _, ...rest } = input;
  const { text, data } = rest as Record<string, unknown>;
  if (typeof text !== 'string') return Object.keys(rest).length === 0 ? '' : rest;
  return data === null || data === undefined ? text : [text, JSON.stringify(data)].join('\n').trim();
}

/** What a message of A2A, or a form of this shape, says; null for other input. */
export function messageTextOf(input: unknown): string | null {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return null;
  const { text, data } = input as Record<string, unknown>;
  if (typeof text !== 'string' || !Object.keys(input).every((key) => MESSAGE_KEYS.has(key))) return null;
  return data === null || data === undefined ? text : [text, JSON.stringify(data)].join('\n').trim();
}

const MESSAGE_KEYS: ReadonlySet<string> = new Set(['text', 'data', 'files', 'message_id', 'context_id']);

function referencesOf(input: unknown): StoredReference[] {
  const files = typeof input === 'object' && input !== null && 'files' in input ? input.files : null;
  return Array.isArray(files) ? files.filter(isFileReference) : [];
}
