/**
 * Files of the embedded setup in its data folder, beside the databases: generated keys and passwords, and
 * logs.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The file that is there from the beginning of a restore to its end. */
export const RESTORE_MARK = 'restore-incomplete';

/** Has the encryption keys of `npm start`, if ENCRYPTION_KEYS is not set. */
export const KEYS_FILE = 'encryption-keys';

const MAX_LOG_BYTES = 20 * 1024 * 1024;

/** Reads a secret from a file with mode 0600. The first call creates it with `generate`. */
export function keptSecret(dataDir: string, name: string, generate: () => string): string {
  const path = join(dataDir, name);
  if (existsSync(path)) {
    const text = readFileSync(path, 'utf8').trim();
    if (text !== '') return text;
  }
  const text = generate();
  // Renamed into place, so that a kill cannot leave a partial key behind.
  writeFileSync(`${path}.part`, `${text}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.part`, path);
  return text;
}

export function generateEncryptionKeys(): string {
  return `k1:${randomBytes(32).toString('base64')}`;
}

/** The capability in the path of the codec endpoint, which Temporal's UI calls. */
export function generateCapability(): string {
  return randomBytes(32).toString('base64url');
}

export function generatePassword(): string {
  return randomBytes(18).toString('base64url');
}

/** Path of a process's log. A large log is moved to `<name>.log.1` first. */
export function logFileOf(dataDir: string, name: string): string {
  const path = join(dataDir, `${name}.log`);
  if (existsSync(path) && statSync(path).size > MAX_LOG_BYTES) renameSync(path, `${path}.1`);
  return path;
}

export function lastLines(path: string, count: number): string {
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').slice(-count).join('\n') : '';
}
