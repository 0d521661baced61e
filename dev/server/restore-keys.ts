/** The keys of a restore: which ones read the backup, and where `npm start` finds them afterwards. */
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';

import type { EncryptionKey } from '../../config/env-types.ts';
import { childEnv } from '../../config/env.ts';
import { checkValueOf } from '../../domain/secrets/check-value.ts';
import { keptSecret, KEYS_FILE as KEPT_KEYS } from '../data-dir.ts';
import { keysFile, parsedKeys, ServerCommandError, type Installation } from './installation.ts';
import { KEYS_FILE, type Manifest } from './manifest.ts';

export interface RestoreKeys {
  keys: readonly EncryptionKey[];
  /** `backup`: the settings lack some, or have others with the same id. */
  from: 'settings' | 'backup';
}

/** @throws ServerCommandError if neither the settings nor the backup have the keys that it needs */
export async function keysForRestore(
  { env }: Pick<Installation, 'env'>,
  folder: string,
  { keys }: Pick<Manifest, 'keys'>,
): Promise<RestoreKeys> {
  const path = join(folder, KEYS_FILE);
  const kept = keys.included ? parsedKeys(await readFile(path, 'utf8'), path) : [];
  const expected = new Map([
    ...kept.map((key) => [key.id, checkValueOf(key)] as const),
    ...Object.entries(keys.check_values),
  ]);
  const fits = (key: EncryptionKey): boolean =>
    (expected.get(key.id) ?? checkValueOf(key)) === checkValueOf(key);
  const lackedBy = (list: readonly EncryptionKey[]): string[] =>
    keys.needed.filter((id) => !list.some((key) => key.id === id && fits(key)));
  const lacked = lackedBy(env.ENCRYPTION_KEYS);
  if (lacked.length === 0) return { keys: env.ENCRYPTION_KEYS, from: 'settings' };
  if (keys.included && lackedBy(kept).length === 0) return { keys: kept, from: 'backup' };
  const others = lacked.filter((id) => env.ENCRYPTION_KEYS.some((key) => key.id === id));
  const named = (ids: readonly string[]): string => ids.map((id) => `"${id}"`).join(', ');
  const problem =
    others.length > 0 ? `has another key under ${named(others)} than the backup` : `lacks ${named(lacked)}`;
  throw new ServerCommandError(
    `ENCRYPTION_KEYS ${problem}, and the backup has no keys: nothing encrypted could be read. ` +
      'Set ENCRYPTION_KEYS to the keys of the time of the backup, and restore again.',
  );
}

/** Puts the keys into the data folder, so that `npm start` needs no setting. */
export async function keepRestoredKeys(
  dataDir: string,
  folder: string,
  { keys, from }: RestoreKeys,
  say: (line: string) => void,
): Promise<void> {
  const path = keysFile(dataDir);
  if (keys.length > 0 && !sameKeys(keysIn(path), keys)) {
    if (existsSync(path)) {
      await rename(path, `${path}.replaced`);
      say(`The keys that were in ${path} are now in ${path}.replaced.`);
    }
    keptSecret(dataDir, KEPT_KEYS, () =>
      keys.map(({ id, key }) => `${id}:${key.toString('base64')}`).join(','),
    );
    say(`The encryption keys are in ${path}. npm start uses them unless ENCRYPTION_KEYS is set.`);
  }
  if (from === 'backup' && (childEnv({})['ENCRYPTION_KEYS'] ?? '').trim() !== '')
    say('Before you start, unset ENCRYPTION_KEYS: it lacks keys of the backup, or has others.');
  const password = join(folder, 'admin-password');
  if (from === 'backup' && existsSync(password)) await copyFile(password, join(dataDir, 'admin-password'));
}

/** None if the file has no valid ones. */
function keysIn(path: string): readonly EncryptionKey[] {
  if (!existsSync(path)) return [];
  try {
    return parsedKeys(readFileSync(path, 'utf8'), path);
  } catch (error) {
    if (error instanceof ServerCommandError) return [];
    throw error;
  }
}

const sameKeys = (some: readonly EncryptionKey[], others: readonly EncryptionKey[]): boolean =>
  some.length === others.length &&
  some.every((key, index) => key.id === others[index]?.id && key.key.equals(others[index].key));
