/** What a backup says of itself. It is written last, so a folder without it is no complete backup. */
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';

import { isFormer } from '../../db/former-migrations.ts';
import { migrationNames } from '../../db/migrations/index.ts';
import { dumpedDatabase, fileOfTable, type DumpedDatabase } from './database-dump.ts';
import { ServerCommandError } from './installation.ts';

const FORMAT = 1;

const manifestSchema = z.object({
  format: z.literal(FORMAT),
  created_at: z.iso.datetime(),
  /** Of the database; earlier releases did not write it. */
  installation_id: z.string().nullable().default(null),
  /** Of Cadenza. */
  version: z.string(),
  database: dumpedDatabase,
  /** `sqlite`: the database of `npm start`. `databases`: in the order in which they were named. */
  temporal: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('none') }),
    z.object({ kind: z.literal('sqlite'), sha256: z.string() }),
    z.object({ kind: z.literal('databases'), databases: z.array(dumpedDatabase) }),
  ]),
  files: z.object({
    included: z.boolean(),
    count: z.int(),
    bytes: z.int(),
    /** Ids of contents that the store did not have. */
    missing: z.array(z.string()),
    store_id: z.string().nullable(),
    /** Of the list of what was copied (CONTENT_SUMS); earlier releases had none. */
    sums_sha256: z.string().nullable().default(null),
  }),
  keys: z.object({
    /** Ids of the keys without which something cannot be read. */
    needed: z.array(z.string()),
    included: z.boolean(),
    /** By key id, to tell another key with the same id (domain/secrets/check-value.ts). */
    check_values: z.record(z.string(), z.string()).default({}),
  }),
});
export type Manifest = z.infer<typeof manifestSchema>;

const NAME = 'manifest.json';
export const DATABASE_FOLDER = 'database';
export const FILE_LIST = 'files.copy.gz';
export const FILES_FOLDER = 'files';
export const CONTENT_SUMS = 'contents.gz';
export const TEMPORAL_FILE = 'temporal.db.gz';
export const KEYS_FILE = 'encryption-keys';
export const temporalFolder = (index: number): string => `temporal-${index + 1}`;

export async function writeManifest(folder: string, manifest: Omit<Manifest, 'format'>): Promise<void> {
  const path = join(folder, NAME);
  const text = `${JSON.stringify({ format: FORMAT, ...manifest }, null, 2)}\n`;
  await writeFile(`${path}.part`, text, { mode: 0o600, flush: true });
  await rename(`${path}.part`, path);
}

/** @throws ServerCommandError */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, NAME), 'utf8').catch((cause: unknown) => {
    if (!existsSync(folder)) throw new ServerCommandError(`There is no folder ${folder}.`, { cause });
    throw new ServerCommandError(`${folder} is no complete backup: it has no ${NAME}.`, { cause });
  });
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    throw new ServerCommandError(`${join(folder, NAME)} is damaged.`, { cause });
  }
  const parsed = manifestSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ServerCommandError(
    `${join(folder, NAME)} is no manifest that this release reads: ` +
      `${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim(),
  );
}

/** @throws ServerCommandError if only a later release can restore it */
export function refuseNewer({ database, version }: Manifest): void {
  const unknown = database.migrations.filter((name) => !migrationNames.includes(name) && !isFormer(name));
  if (unknown.length > 0)
    throw new ServerCommandError(
      `The backup is of a newer release (${version}): this one does not know the schema change ` +
        `${unknown[0] ?? ''}. Restore it with that release.`,
    );
}

/** The files of databases, with the sum of each. */
export function dumpedFiles({ database, temporal }: Pick<Manifest, 'database' | 'temporal'>): DumpedFile[] {
  const ofDatabase = ({ tables }: DumpedDatabase, folder: string): DumpedFile[] =>
    tables.map(({ name, sha256 }) => ({ path: join(folder, fileOfTable(name)), sha256 }));
  const ofTemporal =
    temporal.kind === 'sqlite'
      ? [{ path: TEMPORAL_FILE, sha256: temporal.sha256 }]
      : temporal.kind === 'databases'
        ? temporal.databases.flatMap((one, index) => ofDatabase(one, temporalFolder(index)))
        : [];
  return [...ofDatabase(database, DATABASE_FOLDER), ...ofTemporal];
}

interface DumpedFile {
  /** In the backup's folder. */
  path: string;
  sha256: string;
}
