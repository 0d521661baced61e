/**
 * Backups that follow each other in one folder, each in a folder that is named after its time
 * (docs/adr/0059-backups.md). Other names, and backups of other installations, are left alone.
 */
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';

import { readManifest } from './manifest.ts';

export interface Keeping {
  /** The newest of them. */
  keep?: number | undefined;
  /** Those that are not older. */
  keepDays?: number | undefined;
}

const DAY_MS = 86_400_000;
/** Of an attempt; nobody works on it for so long. */
const UNFINISHED_MS = DAY_MS;
const MARK = 'unfinished.json';
const NAME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/;
/** Of what is being removed. It is no backup any more, also if the process dies. */
const REMOVED = '.removed';

const markSchema = z.object({ installation_id: z.string() });

/** `2026-11-30T02-30-00Z` */
export const nameAt = (time: Date): string => `${time.toISOString().slice(0, 19).replaceAll(':', '-')}Z`;

/** Tells whose attempt this is while it has no manifest. */
export async function markUnfinished(folder: string, installationId: string): Promise<void> {
  const text = `${JSON.stringify({ installation_id: installationId })}\n`;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, MARK), text, { mode: 0o600 });
}

export const removeMark = (folder: string): Promise<void> => rm(join(folder, MARK), { force: true });

interface Found {
  name: string;
  /** In milliseconds since 1970. */
  takenAt: number;
}

/**
 * Removes what need not be kept: of this installation, and older than `newest`, which is complete. It also
 * removes attempts that were killed a day ago or earlier, and goes on with a removal that was killed.
 * @returns the names of the backups that were removed @throws errors of the folder
 */
export async function removeOld(
  place: string,
  { installationId, newest, keep, keepDays }: Keeping & { installationId: string; newest: string },
): Promise<string[]> {
  const complete: Found[] = [];
  for (const entry of await readdir(place, { withFileTypes: true })) {
    const { name } = entry;
    if (name === newest || !entry.isDirectory()) continue;
    const folder = join(place, name);
    if (name.endsWith(REMOVED) && NAME.test(name.slice(0, -REMOVED.length))) await rm(folder, GONE);
    if (!NAME.test(name)) continue;
    const manifest = await readManifest(folder).catch(() => null);
    if (manifest === null) await removeUnfinished(folder, installationId);
    else if (manifest.installation_id === installationId)
      complete.push({ name, takenAt: Date.parse(manifest.created_at) });
  }
  const old = complete
    .toSorted((one, other) => other.takenAt - one.takenAt)
    // The newest counts, too.
    .filter(({ takenAt }, index) => !isKept({ keep, keepDays }, takenAt, index + 2));
  // The oldest first.
  for (const { name } of old.toReversed()) await remove(join(place, name));
  return old.map(({ name }) => name);
}

const GONE = { recursive: true, force: true } as const;

/** @param number 1 for the newest */
function isKept({ keep, keepDays }: Keeping, takenAt: number, number: number): boolean {
  const isAmong = keep !== undefined && number <= keep;
  const isYoung = keepDays !== undefined && Date.now() - takenAt < keepDays * DAY_MS;
  return isAmong || isYoung;
}

async function remove(folder: string): Promise<void> {
  const gone = `${folder}${REMOVED}`;
  await rename(folder, gone);
  await rm(gone, GONE);
}

/** An attempt of this installation that was killed; an empty folder was killed before it had its mark. */
async function removeUnfinished(folder: string, installationId: string): Promise<void> {
  const names = await readdir(folder);
  const changed = await stat(names.includes(MARK) ? join(folder, MARK) : folder);
  if (Date.now() - changed.mtimeMs < UNFINISHED_MS) return;
  if (names.length === 0) return rmdir(folder);
  const mark = await readFile(join(folder, MARK), 'utf8').then(
    (text) => markSchema.safeParse(JSON.parse(text)).data,
    () => undefined,
  );
  if (mark?.installation_id === installationId) await remove(folder);
}
