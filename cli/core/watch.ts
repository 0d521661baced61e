/** Notices changes of a set in a folder. */
import { existsSync, statSync, watch, type FSWatcher } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { CliError } from './errors.ts';
import { requireFolder, RESOURCE_FOLDERS } from './folder.ts';

/** Editors write a file in several steps. */
const QUIET_MS = 100;
/** Files that never rest do not keep others waiting. */
const LONGEST_MS = 2_000;

/** Watches the folder and its folders of resources, not what lies deeper: six watchers at most. */
export class FolderWatch {
  readonly #folder: string;
  readonly #watched = new Map<string, { inode: number; watcher: FSWatcher }>();
  #changed = Promise.withResolvers<void>();
  #lastMs = 0;

  /** @throws CliError if the folder cannot be watched */
  constructor(folder: string) {
    this.#folder = folder;
    this.#watchAll();
  }

  /** Resolves after the next change, also one that was before this call, once it is quiet again. */
  async next(): Promise<void> {
    await this.#changed.promise;
    const latest = Date.now() + LONGEST_MS;
    while (Date.now() - this.#lastMs < QUIET_MS && Date.now() < latest) await pause(QUIET_MS);
    this.#changed = Promise.withResolvers();
    this.#watchAll();
  }

  close(): void {
    for (const path of this.#watched.keys()) this.#forget(path);
  }

  /** Folders of resources come, go, and are replaced. */
  #watchAll(): void {
    requireFolder(this.#folder);
    for (const path of [this.#folder, ...RESOURCE_FOLDERS.map((name) => join(this.#folder, name))]) {
      const inode = existsSync(path) ? statSync(path).ino : undefined;
      if (this.#watched.get(path)?.inode === inode) continue;
      this.#forget(path);
      if (inode !== undefined) this.#watched.set(path, { inode, watcher: this.#watcherOf(path) });
    }
  }

  #watcherOf(path: string): FSWatcher {
    try {
      const watcher = watch(path, () => this.#note());
      return watcher.on('error', () => this.#note());
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new CliError(`Cannot watch ${path}: ${reason}`, { code: 'file_unreadable' });
    }
  }

  #forget(path: string): void {
    this.#watched.get(path)?.watcher.close();
    this.#watched.delete(path);
  }

  #note(): void {
    this.#lastMs = Date.now();
    this.#changed.resolve();
  }
}
