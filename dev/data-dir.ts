/** What the embedded set-up keeps in its data folder beside the databases: generated keys and passwords, and logs. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const maxLogBytes = 20 * 1024 * 1024;

/** The text of a file of mode 0600, made by `generate` the first time. */
export function keptSecret(dataDir: string, name: string, generate: () => string): string {
  const path = join(dataDir, name);
  if (existsSync(path)) {
    const text = readFileSync(path, 'utf8').trim();
    if (text !== '') return text;
  }
  const text = generate();
  // Renamed into place: a kill in the middle must not leave half a key that is then used.
  writeFileSync(`${path}.part`, `${text}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.part`, path);
  return text;
}

export function generateEncryptionKeys(): string {
  return `k1:${randomBytes(32).toString('base64')}`;
}

/** For the path of the codec endpoint that Temporal's UI calls. */
export function generateCapability(): string {
  return randomBytes(32).toString('base64url');
}

export function generatePassword(): string {
  return randomBytes(18).toString('base64url');
}

/** The log of a process; one that has grown big is put aside as `<name>.log.1`. */
export function logFileOf(dataDir: string, name: string): string {
  const path = join(dataDir, `${name}.log`);
  if (existsSync(path) && statSync(path).size > maxLogBytes) renameSync(path, `${path}.1`);
  return path;
}

export function lastLines(path: string, count: number): string {
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').slice(-count).join('\n') : '';
}
