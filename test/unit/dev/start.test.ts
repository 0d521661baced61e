/** What `npm start` says to somebody who has installed nothing, or has an old Node.js. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const launcher = join(import.meta.dirname, '../../../dev/start.cjs');
let clone: string;

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), 'cadenza-clone-'));
  mkdirSync(join(clone, 'dev'));
  cpSync(launcher, join(clone, 'dev/start.cjs'));
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

function start(program: string, version?: string): [number | null, string] {
  const pretend = join(clone, 'pretend.cjs');
  writeFileSync(pretend, `Object.defineProperty(process, 'versions', { value: Object.assign({}, process.versions, { node: ${JSON.stringify(version)} }) });`);
  const run = spawnSync(process.execPath, [...(version === undefined ? [] : ['-r', pretend]), program], { encoding: 'utf8' });
  return [run.status, run.stderr];
}

test('nothing is installed: it says what to do', () => {
  const program = join(clone, 'dev/start.cjs');
  expect(start(program)).toEqual([1, 'Cadenza is not installed yet: run `npm ci` first, then `npm start`.\n']);
  expect(start(program, '20.11.0')).toEqual([1, 'Cadenza is not installed yet: run `npm ci` first, then `npm start`.\n']);
  expect(start(program, '18.20.0')).toEqual([1, 'Cadenza needs Node.js 20 or newer, this is 18.20.0. Install it (https://nodejs.org), then: npm ci && npm start\n']);
});

test('a Node.js that does not read TypeScript, past the one that is installed: it says how to start', () => {
  expect(start(launcher, '20.11.0')).toEqual([1, 'This is Node.js 20.11.0. Start Cadenza by `npm start`, which takes the newer one that `npm ci` has installed.\n']);
});

test('it is written so that an old Node.js reads it', () => {
  const { status, stdout } = spawnSync(process.execPath, ['-p', `require('fs').readFileSync(${JSON.stringify(launcher)}, 'utf8').replace(/\\/\\*[^]*?\\*\\//g, '').match(/=>|\`[^]*\\$\\{|\\b(let|async|await)\\b|\\?\\.|\\?\\?/g)`], { encoding: 'utf8' });
  expect([status, stdout]).toEqual([0, 'null\n']);
});
