/**
 * What tests need from outside this repository. Where it is missing, they are skipped by name with the
 * reason, and the last lines of `npm test` repeat it (skipped.ts).
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { noConformanceData, noteSkipped } from './skipped.ts';

const root = join(import.meta.dirname, '../..');

/** Registers a skipped test that says what is missing, and notes it for the closing lines. */
export function skip(name: string, reason: string): void {
  noteSkipped({ suite: relative(root, expect.getState().testPath ?? ''), name, reason });
  // oxlint-disable-next-line jest/no-disabled-tests, jest/valid-title, jest/expect-expect -- named by reason
  test.skip(`${name} (skipped: ${reason})`, () => {});
}

/** `test` where there is no hindrance; else what skips a test by name because of it. */
export function testUnless(
  hindrance: string | undefined,
): (name: string, body: () => Promise<void>, timeoutMs?: number) => void {
  return hindrance === undefined ? test : (name) => skip(name, hindrance);
}

/**
 * Defines tests that read the public standards' data, each path relative to the data's folder:
 * `CONFORMANCE_DIR`, or `shared/conformance` in a folder above. Where a path is missing, one skipped test
 * stands for them.
 */
export function withConformanceData(
  name: string,
  paths: readonly string[],
  define: (...folders: string[]) => void,
): void {
  const found = paths.map((path) => candidates(path).find((candidate) => existsSync(candidate)));
  const folders = found.filter((folder) => folder !== undefined);
  if (folders.length === paths.length) define(...folders);
  else skip(name, `${noConformanceData} at ${paths.filter((_, n) => found[n] === undefined).join(', ')}`);
}

function candidates(path: string): string[] {
  const configured = process.env['CONFORMANCE_DIR'];
  const tried: string[] = configured ? [join(configured, path)] : [];
  for (let folder = import.meta.dirname; !configured && folder !== dirname(folder); folder = dirname(folder))
    tried.push(join(folder, 'shared/conformance', path));
  return tried;
}

/** Why `uid` cannot run a program of this clone; undefined where it can. Only root may ask. */
export function unreachableFor(uid: number): string | undefined {
  const paths = [process.execPath, join(root, 'package.json'), join(root, 'node_modules/pg/package.json')];
  const blocked = paths.find(
    (path) => spawnSync('/bin/sh', ['-c', 'test -r "$0"', path], { uid, gid: uid, cwd: '/' }).status !== 0,
  );
  return blocked && `user ${uid} cannot read ${blocked}: clone into a folder that everybody may enter`;
}
