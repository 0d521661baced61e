/** Files in an input that come by reference, by URL, or as a data URL: found, taken out, and opened. */
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { CallFiles } from '../../domain/ports.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { isFileReference, openReference, type StoredReference } from './file-references.ts';
import { openRemoteFile } from './remote-file.ts';

/** A text is a URL that starts with `https:`, `http:` or `data:`. */
export type GivenFile = StoredReference | string;

/** Members whose texts are files if they are URLs. */
const FILE_MEMBERS = /^(?:file|image|audio|url)s?$|^image_urls?$/;
const MEMBERS_OF_LINKS = new Set(['url', 'name', 'media_type', 'size', 'sha256', 'detail']);
const MAX_DEPTH = 200;
const DATA_URL = /^data:[^,;]*(?:;[^,;]*)*;base64,/;

/** Nothing is left of the value. */
const NOTHING = Symbol('nothing');

/**
 * The files of a value, in document order: references, objects with a `url`, and texts that are URLs, where
 * they are the value itself, or `url`, `image`, `audio`, `file` and their plurals. `rest` is the value
 * without them, undefined if that is nothing.
 */
export function splitFiles(value: unknown): { files: GivenFile[]; rest: unknown } {
  const files: GivenFile[] = [];
  const rest = withoutFiles(value, true, files, 0);
  return { files, rest: rest === NOTHING ? undefined : rest };
}

function withoutFiles(value: unknown, mayBeUrl: boolean, files: GivenFile[], depth: number): unknown {
  const file = fileOf(value, mayBeUrl);
  if (file !== null) {
    files.push(file);
    return NOTHING;
  }
  if (typeof value !== 'object' || value === null || depth >= MAX_DEPTH) return value;
  const before = files.length;
  if (Array.isArray(value)) {
    const items = value
      .map((item) => withoutFiles(item, mayBeUrl, files, depth + 1))
      .filter((item) => item !== NOTHING);
    return items.length === 0 && files.length > before ? NOTHING : items;
  }
  const members = Object.entries(value)
    .map(([name, item]) => [name, withoutFiles(item, FILE_MEMBERS.test(name), files, depth + 1)] as const)
    .filter(([, item]) => item !== NOTHING);
  return members.length === 0 && files.length > before ? NOTHING : Object.fromEntries(members);
}

/** Null: the value is no file. */
export function fileOf(value: unknown, mayBeUrl: boolean): GivenFile | null {
  if (isFileReference(value)) return value;
  if (typeof value === 'string') return mayBeUrl && /^(?:https?:\/\/|data:)\S+$/i.test(value) ? value : null;
  const isLink = isRecord(value) && Object.keys(value).every((name) => MEMBERS_OF_LINKS.has(name));
  return isLink ? fileOf(value['url'], typeof value['url'] === 'string') : null;
}

export interface OpenedFile {
  name: string;
  /** As its owner or server declares it. */
  media_type: string;
  /** Bytes; null if the server does not say. */
  size: number | null;
  chunks: AsyncIterable<Uint8Array>;
  close: () => void;
}

export interface Opening {
  files: CallFiles | undefined;
  egress: EgressPolicy;
  timeoutMs: number;
  signal: AbortSignal;
  /** Of one file. */
  maxBytes: number;
}

/** Throws `Fault`: for a file that the run may not read, a refused URL, and one that is too large. */
export async function openGiven(file: GivenFile, opening: Opening): Promise<OpenedFile> {
  const { files, egress, timeoutMs, signal, maxBytes } = opening;
  if (typeof file !== 'string') {
    if (!files) throw fault('validation', `There is no file ${file.file_id} that this run may read`);
    const stored = await openReference(file, files);
    const { name, media_type, size } = stored;
    checkSize(file.name ?? name, size, maxBytes);
    return {
      name: file.name ?? name,
      media_type: file.media_type ?? media_type,
      size,
      chunks: await stored.chunks(),
      close: () => undefined,
    };
  }
  if (/^data:/i.test(file)) return openDataUrl(file, maxBytes);
  const remote = await openRemoteFile(egress, { url: file, timeoutMs, signal, maxBytes });
  return {
    name: remote.name,
    media_type: remote.media_type ?? 'application/octet-stream',
    size: null,
    chunks: remote.chunks,
    close: () => remote.close(),
  };
}

function openDataUrl(url: string, maxBytes: number): OpenedFile {
  const [head] = DATA_URL.exec(url.slice(0, 1_000)) ?? [];
  if (head === undefined) throw fault('validation', 'A data URL in the input has no content in base64');
  const bytes = Buffer.from(url.slice(head.length), 'base64');
  checkSize('A data URL in the input', bytes.length, maxBytes);
  const media_type = /^data:([^,;]+)/.exec(head)?.[1] ?? 'application/octet-stream';
  return { name: 'data', media_type, size: bytes.length, chunks: once(bytes), close: () => undefined };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function checkSize(name: string, size: number, maxBytes: number): void {
  if (size > maxBytes) throw tooLarge(name, maxBytes);
}

function tooLarge(name: string, maxBytes: number): Error {
  return fault('validation', `${name} is larger than ${maxBytes / 1024 / 1024} MiB, which is the limit`);
}

/** The whole content. Throws `Fault` (validation) above `maxBytes`. */
export async function readGiven(
  file: GivenFile,
  opening: Opening,
): Promise<{ name: string; media_type: string; bytes: Buffer }> {
  const { name, media_type, chunks, close } = await openGiven(file, opening);
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      checkSize(name, size, opening.maxBytes);
      parts.push(chunk);
    }
  } finally {
    close();
  }
  return { name, media_type, bytes: Buffer.concat(parts) };
}
