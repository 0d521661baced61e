/** The messages of `npm start` before anything is installed, or with an old Node.js. */
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
  writeFileSync(
    pretend,
    "Object.defineProperty(process, 'versions', " +
      `{ value: Object.assign({}, process.versions, { node: ${JSON.stringify(version)} }) });`,
  );
  const run = spawnSync(process.execPath, [...(version === undefined ? [] : ['-r', pretend]), program], {
    encoding: 'utf8',
  });
  return [run.status, run.stderr];
}

test('npm start without installed packages says what to install', () => {
  const program = join(clone, 'dev/start.cjs');
  expect(start(program)).toEqual([
    1,
    'Cadenza is not installed yet: run `npm ci` first, then `npm start`.\n',
  ]);
  expect(start(program, '20.11.0')).toEqual([
    1,
    'Cadenza is not installed yet: run `npm ci` first, then `npm start`.\n',
  ]);
  expect(start(program, '18.20.0')).toEqual([
    1,
    'Cadenza needs Node.js 20 or newer, but this is 18.20.0. ' +
      'Install it (https://nodejs.org), then: npm ci && npm start\n',
  ]);
});

test('a Node.js that cannot read TypeScript gets a message that names npm start', () => {
  expect(start(launcher, '20.11.0')).toEqual([
    1,
    'This is Node.js 20.11.0. ' +
      'Start Cadenza with `npm start`, which uses the newer version that `npm ci` installed.\n',
  ]);
});

test('the launcher uses only syntax that an old Node.js reads', () => {
  // Any newer syntax, outside of comments.
  const program =
    `require('fs').readFileSync(${JSON.stringify(launcher)}, 'utf8')` +
    `.replace(/\\/\\*[^]*?\\*\\//g, '')` +
    `.match(/=>|\`[^]*\\$\\{|\\b(let|async|await)\\b|\\?\\.|\\?\\?/g)`;
  const { status, stdout } = spawnSync(process.execPath, ['-p', program], { encoding: 'utf8' });
  expect([status, stdout]).toEqual([0, 'null\n']);
});

test('an unusable data folder ends the start with one line that names the setting', () => {
  const file = join(clone, 'a-file');
  writeFileSync(file, '');
  const { status, stderr } = spawnSync(process.execPath, [launcher], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], DATA_DIR: join(file, 'data') },
  });
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(
      new RegExp(
        String.raw`^Cadenza did not start: the data folder .*a-file/data is not writable ` +
          String.raw`\(ENOTDIR: .*\)\. Choose another one with DATA_DIR\.\n$`,
      ),
    ),
  ]);
});
