/** The files of a process: those that its task names go in, those that it leaves come out. */
import { extname } from 'node:path';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { isUuid } from '../../contracts/uuid.ts';
import type { FileReference, ProcessCall, ProcessFiles } from '../../domain/ports.ts';
import type { Sensitive } from '../secrets/sensitive.ts';
import { FOLDER, namesOf } from './container-files.ts';
import type { SandboxFile } from './container-spec.ts';

export const MAX_FILES_IN = 32;
/** A script has its files in memory. */
const MAX_SCRIPT_BYTES = 8 * 1024 * 1024;

/** The folder's name as a word of its own. */
const MENTION = /(?<![\w./-])\/files\/(?:in|out)(?![\w-])/;

interface Given {
  /** With paths instead of references to files. */
  with: Record<string, unknown>;
  /** Null: the process gets no folder. */
  files: SandboxFile[] | null;
}

/**
 * The files that arguments and environment variables refer to. A process has the folder if there are some, or
 * if its task names the folder. @throws Fault for one that the run may not read
 */
export async function filesOf({ with: configured, files }: ProcessCall, code: string): Promise<Given> {
  const ids = new Set(valuesOf(configured).flatMap((value) => referenceOf(value)?.toLowerCase() ?? []));
  if (ids.size > MAX_FILES_IN) throw fault('runtime', `A process gets at most ${MAX_FILES_IN} files`);
  const { arguments: values, environment, command } = configured;
  const mentions = MENTION.test([JSON.stringify([values, environment]), command, code].join('\n'));
  if (ids.size === 0 && !mentions) return { with: configured, files: null };
  const found = await Promise.all([...ids].map((id) => opened(files, id)));
  const names = namesOf(found);
  const named = found.map((file, index) => ({ ...file, name: names[index] ?? file.name }));
  const paths = new Map([...ids].map((id, index) => [id, `${FOLDER}/in/${names[index] ?? ''}`]));
  const pathOf = (value: unknown): unknown => paths.get(referenceOf(value)?.toLowerCase() ?? '') ?? value;
  return {
    with: {
      ...configured,
      ...(Array.isArray(values) ? { arguments: values.map(pathOf) } : {}),
      ...(isRecord(environment)
        ? {
            environment: Object.fromEntries(
              Object.entries(environment).map(([name, value]) => [name, pathOf(value)]),
            ),
          }
        : {}),
    },
    files: named,
  };
}

function valuesOf({ arguments: values, environment }: Record<string, unknown>): unknown[] {
  return [
    ...(Array.isArray(values) ? (values as unknown[]) : []),
    ...(isRecord(environment) ? Object.values(environment) : []),
  ];
}

/** The id in a reference to a file of the platform; null for any other value. */
export function referenceOf(value: unknown): string | null {
  const id = isRecord(value) ? value['file_id'] : null;
  return typeof id === 'string' && isUuid(id) ? id : null;
}

/** @throws Fault for one that the run may not read */
export async function opened(files: ProcessFiles, id: string): Promise<SandboxFile> {
  const file = await files.open(id);
  if (!file) throw fault('validation', `There is no file ${id} that the run's owner may read`);
  return { name: file.name, size: file.size, chunks: () => file.chunks() };
}

/** The files' contents in memory. @throws Fault if they are too large */
export async function contentsOf(
  files: readonly SandboxFile[],
): Promise<{ name: string; bytes: Uint8Array }[]> {
  if (files.reduce((sum, { size }) => sum + size, 0) > MAX_SCRIPT_BYTES)
    throw fault('runtime', `The files for the script have more than ${MAX_SCRIPT_BYTES} bytes`);
  const contents: { name: string; bytes: Uint8Array }[] = [];
  for (const file of files) {
    const parts: Uint8Array[] = [];
    for await (const chunk of await file.chunks()) parts.push(chunk);
    contents.push({ name: file.name, bytes: Buffer.concat(parts) });
  }
  return contents;
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Stores what a process leaves. */
export interface FilesOut {
  readonly files: FileReference[];
  take(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
}

/** Secrets are redacted from names and contents. */
export function createFilesOut(
  store: ProcessFiles,
  sensitive: Pick<Sensitive, 'redact' | 'redactStream'>,
): FilesOut {
  const files: FileReference[] = [];
  return {
    files,
    async take(name, chunks) {
      const file = { name: sensitive.redact(name), media_type: typeOf(name) };
      const stored = await store.store(sensitive.redactStream(chunks), file);
      if (!files.some(({ file_id: id }) => id === stored.file_id)) files.push(stored);
    },
  };
}

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  gif: 'image/gif',
  gz: 'application/gzip',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  log: 'text/plain',
  md: 'text/markdown',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  wav: 'audio/wav',
  webp: 'image/webp',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  zip: 'application/zip',
};

function typeOf(name: string): string {
  return TYPES[extname(name).slice(1).toLowerCase()] ?? 'application/octet-stream';
}
