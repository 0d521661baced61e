/** State shared by the workers of one test run: a folder, and things that are created once in it. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const runFolderVariable = 'CADENZA_TEST_RUN';

export function runFolder(): string {
  const folder = process.env[runFolderVariable];
  if (!folder) throw new Error('This runs inside of `npm test` only.');
  return folder;
}

/** True for the first caller of the whole run with this name, false for every other. */
export function claim(name: string): boolean {
  try {
    mkdirSync(join(runFolder(), `${name}.claim`));
    return true;
  } catch {
    return false;
  }
}

/** Writes a file in one step, so that a reader sees all of it or none. */
export function publish(folder: string, name: string, content: string): void {
  writeFileSync(join(folder, `${name}.part`), content);
  renameSync(join(folder, `${name}.part`), join(folder, name));
}

/** Waits for what was published under a name. Fails with the content of `<name>.failed`. */
export async function published(name: string, timeoutMs: number): Promise<string> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const path = join(runFolder(), name);
    if (existsSync(path)) return readFileSync(path, 'utf8');
    if (existsSync(`${path}.failed`)) throw new Error(readFileSync(`${path}.failed`, 'utf8'));
    if (Date.now() > deadline) throw new Error(`${name} was not there after ${timeoutMs} ms`);
    await sleep(20);
  }
}

/**
 * The text that `make` gives, created once in the whole test run, by the first test file that asks (a
 * workflow bundle, say).
 */
export async function oncePerRun(
  name: string,
  make: () => Promise<string>,
  timeoutMs = 240_000,
): Promise<string> {
  if (claim(name)) {
    try {
      publish(runFolder(), name, await make());
    } catch (error) {
      publish(
        runFolder(),
        `${name}.failed`,
        error instanceof Error ? (error.stack ?? error.message) : String(error),
      );
    }
  }
  return published(name, timeoutMs);
}
