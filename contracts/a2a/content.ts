/**
 * A run's output as A2A content: one artifact. A string, or the text of a language model, becomes a text
 * part; `{text?, data?, files}` becomes one part each; anything else becomes a data part. An output `{a2a:
 * {artifacts | message}}` lists its parts itself. Pure.
 */
import type { A2AArtifact, A2APart } from './objects.ts';
import { isRecord } from '../is-record.ts';
import { accepts } from './modes.ts';

export interface Content {
  artifacts: A2AArtifact[];
  /** The agent answers with a message instead of artifacts. */
  message: A2APart[] | null;
}

/** Of an output that lists no artifacts itself. */
export const OUTPUT_ARTIFACT = { artifactId: 'output', name: 'output' } as const;

/** What agents of language models add to their text. */
const BESIDE_TEXT: ReadonlySet<string> = new Set(['text', 'finish_reason', 'model']);

/** The expiring link of a stored file; null for an unknown id. */
export type FileLink = (fileId: string) => string | null;

/** `accepted`: the media types that the client takes; empty means all. */
export function contentOf(output: unknown, accepted: readonly string[], link: FileLink): Content {
  if (output === null || output === undefined) return { artifacts: [], message: null };
  const own = explicit(output);
  if (own !== null) {
    return {
      artifacts: own.artifacts.map((artifact, index) => ({
        artifactId: text(artifact['artifactId']) ?? `output-${index + 1}`,
        ...pick(artifact, ['name', 'description', 'metadata']),
        parts: parts(artifact['parts'], accepted, link),
      })),
      message: own.message && parts(own.message['parts'], accepted, link),
    };
  }
  return {
    artifacts: [{ ...OUTPUT_ARTIFACT, parts: plainParts(output, accepted, link) }],
    message: null,
  };
}

function plainParts(output: unknown, accepted: readonly string[], link: FileLink): A2APart[] {
  if (typeof output === 'string') return [textPart(output, accepted)];
  if (isRecord(output)) {
    const keys = Object.keys(output);
    if (typeof output['text'] === 'string' && keys.every((key) => BESIDE_TEXT.has(key)))
      return [textPart(output['text'], accepted)];
    if (Array.isArray(output['files']) && keys.every((key) => ['text', 'data', 'files'].includes(key))) {
      const files = output['files'].flatMap((file: unknown) => filePart(file, link) ?? []);
      if (files.length === output['files'].length) {
        const { text: summary, data } = output;
        return [
          ...(typeof summary === 'string' && summary !== '' ? [textPart(summary, accepted)] : []),
          ...(data === undefined || data === null ? [] : [dataPart(data, accepted)]),
          ...files,
        ];
      }
    }
    const file = filePart(output, link);
    if (file !== null) return [file];
  }
  return [dataPart(output, accepted)];
}

/** A client that takes JSON but no text gets the text as JSON. */
function textPart(value: string, accepted: readonly string[]): A2APart {
  return takes(accepted, 'text/plain') || !takes(accepted, 'application/json')
    ? { text: value, mediaType: 'text/plain' }
    : { data: { text: value }, mediaType: 'application/json' };
}

function dataPart(value: unknown, accepted: readonly string[]): A2APart {
  return takes(accepted, 'application/json') || !takes(accepted, 'text/plain')
    ? { data: value, mediaType: 'application/json' }
    : { text: typeof value === 'string' ? value : JSON.stringify(value), mediaType: 'text/plain' };
}

function takes(accepted: readonly string[], mediaType: string): boolean {
  return accepted.length === 0 || accepts(accepted, mediaType);
}

/** `{file_id | url, name?, media_type?}`; null for anything else. */
function filePart(value: unknown, link: FileLink): A2APart | null {
  if (!isRecord(value)) return null;
  const known = ['file_id', 'url', 'name', 'media_type', 'size', 'sha256'];
  if (!Object.keys(value).every((key) => known.includes(key))) return null;
  const id = text(value['file_id']);
  const url = id === null ? text(value['url']) : link(id);
  if (url === null || !(id !== null || 'name' in value || 'media_type' in value)) return null;
  const [name, mediaType] = [text(value['name']), text(value['media_type'])];
  return { url, ...(name === null ? {} : { filename: name }), ...(mediaType === null ? {} : { mediaType }) };
}

function explicit(
  output: unknown,
): { artifacts: Record<string, unknown>[]; message: Record<string, unknown> | null } | null {
  if (!isRecord(output) || Object.keys(output).length !== 1 || !isRecord(output['a2a'])) return null;
  const { artifacts = [], message = null } = output['a2a'];
  const listed = Array.isArray(artifacts) ? artifacts.filter(isRecord) : [];
  return { artifacts: listed, message: isRecord(message) ? message : null };
}

/** Parts that the output lists itself, as ProtoJSON or as plain values. */
function parts(value: unknown, accepted: readonly string[], link: FileLink): A2APart[] {
  const list: unknown[] = Array.isArray(value) ? value : [];
  return list.map((part) => {
    if (!isRecord(part))
      return typeof part === 'string' ? textPart(part, accepted) : dataPart(part, accepted);
    const more = pick(part, ['filename', 'mediaType', 'metadata']);
    if (typeof part['text'] === 'string') return { text: part['text'], ...more };
    if (typeof part['raw'] === 'string') return { raw: part['raw'], ...more };
    if (typeof part['url'] === 'string') return { url: part['url'], ...more };
    if ('data' in part) return { data: part['data'], ...more };
    return filePart(part, link) ?? dataPart(part, accepted);
  });
}

function pick(record: Record<string, unknown>, keys: string[]): Record<string, never> {
  // The values come from the agent; the codec drops values of a wrong type.
  return Object.fromEntries(
    Object.entries(record).filter(
      ([key, value]) => keys.includes(key) && value !== null && value !== undefined,
    ),
  ) as Record<string, never>;
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
