/** The console opens fast because it is small: what a browser loads stays below these sizes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from '@jest/globals';

import { buildConsole, consoleFolder } from '../../support/chromium.ts';

let files: string[];

beforeAll(async () => {
  await buildConsole();
  files = readdirSync(join(consoleFolder, 'assets'));
});

/** Compressed size of files. */
function kilobytes(names: Iterable<string>): number {
  let bytes = 0;
  for (const name of names) bytes += gzipSync(readFileSync(join(consoleFolder, 'assets', name))).length;
  return bytes / 1_000;
}

/** What the page loads at once: its own script and style, and what these share with other screens. */
function firstView(): string[] {
  const page = readFileSync(join(consoleFolder, 'index.html'), 'utf8');
  return [...page.matchAll(/assets\/([^"]+)"/g)].map(([, name = '']) => name);
}

test('log-in and inbox take at most 62 kB of scripts and 8 kB of styles', () => {
  const scripts = firstView().filter((name) => name.endsWith('.js'));
  const styles = firstView().filter((name) => name.endsWith('.css'));
  expect(scripts.filter((name) => name.startsWith('index-'))).toHaveLength(1);
  expect(styles).not.toEqual([]);
  expect(kilobytes(scripts)).toBeLessThan(62);
  expect(kilobytes(styles)).toBeLessThan(8);
});

/** Compressed size of a lazy screen with all that it imports and the first view lacks. */
function screenKilobytes(name: string): number {
  const [first] = files.filter((file) => new RegExp(`^${name}-[^.]{8}\\.js$`).test(file));
  expect(first).toBeDefined();
  const needed = new Set<string>();
  const add = (file: string) => {
    if (needed.has(file) || firstView().includes(file)) return;
    needed.add(file);
    const source = readFileSync(join(consoleFolder, 'assets', file), 'utf8');
    for (const [, imported = ''] of source.matchAll(/\bfrom\s*["'`]\.\/([^"'`]+)["'`]/g)) add(imported);
  };
  add(first ?? '');
  return kilobytes(needed);
}

test.each([
  ['device', 3],
  ['password', 5],
  ['run', 20],
  ['runs', 9],
  ['workflows', 8],
  ['workflow', 19],
  ['editor', 150],
  ['agents', 9],
  ['agent', 17],
  ['edit-agent', 14],
  ['marketplace', 7],
  ['market-item', 15],
  ['market-reviews', 14],
  ['share', 5],
  ['details', 7],
  ['settings', 16],
  ['palette-list', 6],
  ['saved-views-panel', 3],
])('the screen %s adds at most %d kB', (name, bound) => {
  expect(screenKilobytes(name)).toBeLessThan(bound);
});

test('the worker of the editor takes at most 100 kB, and loads the rest when it is needed', () => {
  const [worker = ''] = files.filter((name) => /^check-worker-.*\.js$/.test(name));
  expect(kilobytes([worker])).toBeLessThan(100);
  const source = readFileSync(join(consoleFolder, 'assets', worker), 'utf8');
  expect(source).not.toMatch(/^import\b|\bfrom\s*["'`]\.\//m);
});

test('the page has no zod, whose look for eval breaks the policy of the page', () => {
  const withZod = files.filter(
    (name) =>
      name.endsWith('.js') && readFileSync(join(consoleFolder, 'assets', name), 'utf8').includes('_zod'),
  );
  // It reads definitions.
  expect(withZod).toEqual([expect.stringMatching(/^check-worker-/)]);
});

test('the page has no script or style of its own, as its policy demands', () => {
  const page = readFileSync(join(consoleFolder, 'index.html'), 'utf8');
  expect(page).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
});
