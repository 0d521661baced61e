/** Turns a message's parts into the agent's input, and checks a message before its task exists. Pure. */
import type { A2AMessage, A2APart } from '../../contracts/a2a/objects.ts';
import { AppError, invalid, MAX_LISTED_ERRORS, type FieldError } from '../errors.ts';
import type { NewFetch } from '../files/fetches.ts';
import type { FileReference } from '../ports.ts';
import { accepts, mediaTypeOf } from '../../contracts/a2a/modes.ts';
import { MAX_LISTED } from './bounds.ts';

/**
 * The linked files, which have to be fetched before the agent starts; `position` is the index in the input's
 * `files`.
 */
export function filesToFetch(message: A2AMessage, fileOf: FileOfPart): NewFetch[] {
  const files = message.parts.flatMap((part) => {
    const file = fileOf(part);
    return file ? [{ file, checksum: part.metadata?.['sha256'] }] : [];
  });
  return files.flatMap(({ file: { file_id, url, name, media_type }, checksum }, position) =>
    file_id !== undefined || url === undefined
      ? []
      : [
          {
            position,
            url,
            name,
            media_type,
            sha256: typeof checksum === 'string' ? checksum.toLowerCase() : undefined,
          },
        ],
  );
}

/** The file of a part: a stored file by id, a linked one by URL; null for other parts. */
export type FileOfPart = (part: A2APart) => FileReference | null;

/** Limits how much is fetched before the agent starts. */
const MAX_LINKED = 20;

/**
 * `{text, data, files, message_id, context_id}`. A single data part to an agent with an input schema is the
 * input itself. `data` is the data part, an array of several, or null.
 */
export function agentInput(
  message: A2AMessage,
  contextId: string,
  hasSchema: boolean,
  fileOf: FileOfPart,
): unknown {
  const { parts } = message;
  const data = parts.filter((part) => 'data' in part).map((part) => part.data);
  const [only] = parts;
  if (hasSchema && parts.length === 1 && only && 'data' in only) return only.data;
  return {
    text: textOf(parts),
    data: data.length > 1 ? data : (data[0] ?? null),
    files: parts.flatMap((part) => fileOf(part) ?? []),
    message_id: message.messageId,
    context_id: contextId,
  };
}

export function textOf(parts: readonly A2APart[]): string {
  return parts.flatMap(({ text }) => text ?? []).join('\n');
}

/** @throws content_type_not_supported for the first part that the agent does not take */
export function checkInputModes(message: A2AMessage, modes: readonly string[]): void {
  // The media type of a link without one is known only after the fetch.
  const known = message.parts.filter(({ url, mediaType }) => url === undefined || mediaType);
  const refused = known.map(mediaTypeOf).find((type) => !accepts(modes, type));
  if (refused !== undefined)
    throw notSupported(`This agent does not take ${refused}; it takes ${modes.join(', ')}.`);
}

/**
 * @throws content_type_not_supported if the client takes none of the agent's output modes; an empty list
 * accepts all
 */
export function checkOutputModes(accepted: readonly string[], modes: readonly string[]): void {
  if (accepted.length === 0 || accepted.some((range) => accepts(modes, range))) return;
  throw notSupported(`This agent offers ${modes.join(', ')}, but none of the acceptedOutputModes.`);
}

function notSupported(detail: string): AppError {
  return new AppError('unsupported_media_type', 'content_type_not_supported', detail);
}

const MAX_ID = 255;

/** Checks what the codecs do not check. @throws 422 with the first mistakes */
export function checkMessage(message: A2AMessage): void {
  const errors: FieldError[] = [];
  const add = (pointer: string, code: string, text: string): void =>
    void errors.push({ pointer: `/message${pointer}`, code, message: text });
  if (message.messageId.trim() === '') add('/messageId', 'required', 'message.messageId is required');
  for (const key of ['messageId', 'contextId'] as const) {
    if ((message[key] ?? '').length > MAX_ID)
      add(`/${key}`, 'too_long', `message.${key} has at most ${MAX_ID} characters`);
  }
  if (message.role !== 'ROLE_USER')
    add('/role', 'invalid', 'message.role must be ROLE_USER: clients send messages as the user');
  if (message.parts.length === 0) add('/parts', 'required', 'message.parts must have at least one part');
  if (message.parts.length > MAX_LISTED)
    add('/parts', 'too_many', `message.parts has at most ${MAX_LISTED} entries`);
  for (const [index, part] of message.parts.slice(0, MAX_LISTED).entries()) {
    if (errors.length > MAX_LISTED_ERRORS) break;
    const kinds = ['text', 'raw', 'url', 'data'].filter((kind) => kind in part);
    if (kinds.length !== 1)
      add(`/parts/${index}`, 'invalid', 'a part has exactly one of text, raw, url, data');
    if (part.url !== undefined && !/^https?:\/\//i.test(part.url))
      add(`/parts/${index}/url`, 'invalid', 'a file URL is http or https');
  }
  if (message.parts.filter(({ url }) => url !== undefined).length > MAX_LINKED)
    add('/parts', 'too_many', `a message links at most ${MAX_LINKED} files`);
  if (errors.length > 0) throw invalid(errors, errors.map((error) => error.message).join('; '));
}
