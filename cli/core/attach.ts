/** Local files as the input of an agent or a workflow, or in a form: uploaded, and given by reference. */
import { accessSync, constants, openAsBlob } from 'node:fs';
import { basename, extname } from 'node:path';

import { isFileListSchema, referenceTo } from '../../contracts/file-reference.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { Cli } from './cli.ts';
import { usageError } from './errors.ts';
import { texts } from './flags.ts';
import { unreadable } from './unreadable.ts';

export const attachFlag = texts(
  'Upload a file and refer to it in the field NAME, or else in the list "files"; repeat it for several files',
  '[NAME=]PATH',
);

/** What lets somebody upload files who is no builder: a task that they decide, a workflow that they start. */
export type UploadFor = { human_task: string } | { workflow: string };

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.flac': 'audio/flac',
  '.gif': 'image/gif',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.m4a': 'audio/mp4',
  '.md': 'text/markdown',
  '.mp3': 'audio/mpeg',
  '.ogg': 'audio/ogg',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.txt': 'text/plain',
  '.wav': 'audio/wav',
  '.webm': 'audio/webm',
  '.webp': 'image/webp',
};

/** By the extension. */
function mediaTypeOf(path: string): string {
  return MEDIA_TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream';
}

/** @throws CliError if it cannot be read */
export async function openUpload(path: string, type = mediaTypeOf(path)): Promise<Blob> {
  try {
    // The error of `openAsBlob` does not say why.
    accessSync(path, constants.R_OK);
    return await openAsBlob(path, { type });
  } catch (error) {
    throw unreadable(path, error);
  }
}

/**
 * The input with the files: `name=path` sets a field, or adds to it if the schema has a list of files there;
 * a path alone adds to the list `files`. The schema may allow a part of a reference only.
 * @throws CliError before anything is uploaded if a field for one file is given twice
 */
export async function withFiles(
  cli: Cli,
  input: unknown,
  attached: readonly string[],
  { schema, uploadFor }: { schema: unknown; uploadFor?: UploadFor },
): Promise<unknown> {
  if (attached.length === 0) return input;
  if (input !== undefined && !isRecord(input)) throw usageError('--attach needs an input that is an object.');
  const value: Record<string, unknown> = { ...input };
  for (const { name, path, isListed, property } of targetsOf(attached, schema)) {
    const body = await openUpload(path);
    const query = { name: basename(path), ...uploadFor };
    const file = await cli.client.call('uploadFile', { query, body, signal: cli.signal });
    const others = memberOf(value, name);
    if (isListed)
      value[name] = [
        ...(Array.isArray(others) ? (others as unknown[]) : []),
        referenceTo(file, memberOf(property, 'items')),
      ];
    else value[name] = referenceTo(file, property);
  }
  return value;
}

interface Target {
  /** Of the field. */
  name: string;
  path: string;
  /** Whether it is one of several. */
  isListed: boolean;
  /** The schema of the field, if it is known. */
  property: unknown;
}

function targetsOf(attached: readonly string[], schema: unknown): Target[] {
  const targets = attached.map((given): Target => {
    const [, name = 'files', path = given] = /^([^=/\\.]+)=(.+)$/s.exec(given) ?? [];
    const property = memberOf(memberOf(schema, 'properties'), name);
    const isList = isRecord(property) && isFileListSchema(property);
    return { name, path, isListed: path === given || isList, property };
  });
  const names = targets.flatMap(({ name, isListed }) => (isListed ? [] : [name]));
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw usageError(`--attach ${twice}=… is given twice; the field takes one file.`);
  return targets;
}

function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
