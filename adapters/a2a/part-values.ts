/**
 * Converts between JSON values and A2A parts; the inverse of what our own A2A endpoint does with messages and
 * outputs.
 */
import { fault } from '../../contracts/fault.ts';
import type { Artifact, Part } from '@a2a-js/sdk';
import { isRecord } from '../../contracts/is-record.ts';
import type { CallFiles, FileReference } from '../../domain/ports.ts';

/** Larger files are sent as an expiring link. */
const MAX_RAW_BYTES = 8 * 1024 * 1024;

const INPUT_KEYS = new Set(['text', 'data', 'files', 'context_id', 'message_id']);

/**
 * A string becomes a text part; `{text?, data?, files?, context_id?}` becomes one part each; other JSON
 * becomes a data part, or text for an agent that takes only text. Files: `{file_id | url | base64, name?,
 * media_type?}`.
 */
export async function partsOf(
  input: unknown,
  inputModes: readonly string[],
  files: CallFiles | undefined,
): Promise<Part[]> {
  if (typeof input === 'string') return [text(input)];
  if (!isEnvelope(input)) return [data(input, inputModes)];
  const parts: Part[] = [];
  if (typeof input['text'] === 'string' && input['text'] !== '') parts.push(text(input['text']));
  if (input['data'] !== undefined && input['data'] !== null) parts.push(data(input['data'], inputModes));
  for (const file of Array.isArray(input['files']) ? input['files'] : [])
    parts.push(await filePart(file, files));
  return parts.length > 0 ? parts : [text('')];
}

/** The A2A context that the input continues, if it names one. */
export function contextOf(input: unknown): string {
  return isEnvelope(input) && typeof input['context_id'] === 'string' ? input['context_id'] : '';
}

function isEnvelope(input: unknown): input is Record<string, unknown> {
  if (!isRecord(input) || !Object.keys(input).every((key) => INPUT_KEYS.has(key))) return false;
  const { text: content, files } = input;
  return (
    (typeof content === 'string' || 'data' in input || Array.isArray(files)) &&
    (content === undefined || content === null || typeof content === 'string') &&
    (files === undefined || files === null || Array.isArray(files))
  );
}

export function text(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' };
}

/** A missing value becomes `{}`, because protobuf has no null part. */
export function data(value: unknown, inputModes: readonly string[] = []): Part {
  const takes = (type: string): boolean =>
    inputModes.some((mode) => [type, `${type.split('/')[0]}/*`, '*/*', '*'].includes(mode.toLowerCase()));
  if (inputModes.length > 0 && !takes('application/json') && (takes('text/plain') || takes('text')))
    return text(JSON.stringify(value ?? {}));
  return {
    content: { $case: 'data', value: value ?? {} },
    metadata: undefined,
    filename: '',
    mediaType: 'application/json',
  };
}

async function filePart(file: unknown, files: CallFiles | undefined): Promise<Part> {
  const { file_id: id, url, base64, name, media_type: type } = isRecord(file) ? file : {};
  const described = {
    metadata: undefined,
    filename: typeof name === 'string' ? name : '',
    mediaType: typeof type === 'string' ? type : '',
  };
  if (typeof id === 'string') {
    const file = await files?.open(id);
    const link = files && file && file.size > MAX_RAW_BYTES ? await files.link(id) : null;
    if (file && link)
      return {
        ...described,
        filename: described.filename || file.name,
        mediaType: described.mediaType || file.media_type,
        content: { $case: 'url', value: link },
      };
    const stored = await files?.read(id);
    if (!stored) throw fault('validation', `There is no file ${id} that this run may read`);
    return {
      ...described,
      filename: described.filename || stored.name,
      mediaType: described.mediaType || stored.media_type,
      content: { $case: 'raw', value: Buffer.from(stored.bytes) },
    };
  }
  if (typeof url === 'string') return { ...described, content: { $case: 'url', value: url } };
  if (typeof base64 === 'string')
    return { ...described, content: { $case: 'raw', value: Buffer.from(base64, 'base64') } };
  throw fault('validation', 'A file of the input has neither file_id nor url nor base64');
}

/**
 * No artifact becomes null, one its value, several `{artifacts: [{id, name, description, output}]}`. The
 * value of parts: a string for a single text, the data for a single data part, else `{text?, data?, files?}`,
 * with texts joined by newlines and several data parts as an array. The texts of streamed artifacts, whose
 * ids are in `pieced`, are joined without newlines.
 */
export async function outputOfArtifacts(
  artifacts: readonly Artifact[],
  pieced: ReadonlySet<string>,
  files: CallFiles | undefined,
): Promise<unknown> {
  const values = [];
  for (const { artifactId, name, description, parts } of artifacts) {
    const output = await valueOf(parts, files, pieced.has(artifactId) ? '' : '\n');
    values.push({ id: artifactId, name, description, output });
  }
  return values.length > 1 ? { artifacts: values } : (values[0]?.output ?? null);
}

export async function valueOf(
  parts: readonly Part[],
  files: CallFiles | undefined,
  joint = '\n',
): Promise<unknown> {
  const texts = parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []));
  const datas = parts.flatMap(({ content }) => (content?.$case === 'data' ? [content.value as unknown] : []));
  const references: FileReference[] = [];
  for (const part of parts)
    if (part.content?.$case === 'raw' || part.content?.$case === 'url')
      references.push(await referenceTo(part, files));
  if (references.length === 0 && datas.length === 0) return texts.length === 0 ? null : texts.join(joint);
  const [only] = datas;
  if (references.length === 0 && texts.length === 0 && datas.length === 1) return only;
  return {
    ...(texts.length > 0 ? { text: texts.join(joint) } : {}),
    ...(datas.length > 0 ? { data: datas.length > 1 ? datas : only } : {}),
    ...(references.length > 0 ? { files: references } : {}),
  };
}

export function textOf(parts: readonly Part[]): string {
  return parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])).join('\n');
}

/** A linked file stays a link; inline bytes are stored as a file. */
async function referenceTo(part: Part, files: CallFiles | undefined): Promise<FileReference> {
  const described = {
    ...(part.filename === '' ? {} : { name: part.filename }),
    ...(part.mediaType === '' ? {} : { media_type: part.mediaType }),
  };
  if (part.content?.$case === 'url') return { url: part.content.value, ...described };
  const bytes = part.content?.$case === 'raw' ? part.content.value : Buffer.alloc(0);
  if (!files) throw fault('configuration', 'The answer holds a file, and there is no place for it');
  return files.store(bytes, {
    name: described.name ?? 'file',
    media_type: described.media_type ?? 'application/octet-stream',
  });
}
