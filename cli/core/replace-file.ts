import { randomUUID } from 'node:crypto';
import { chmodSync, closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';

/** A reader sees the old file or the new one, whenever this process dies. Only its owner can read it. */
export function replaceFile(path: string, text: string): void {
  const temporary = `${path}.${randomUUID()}`;
  const file = openSync(temporary, 'wx', 0o600);
  writeSync(file, text);
  fsyncSync(file);
  closeSync(file);
  chmodSync(temporary, 0o600);
  renameSync(temporary, path);
}
