/** Archives of files, as an engine and as GNU tar have them. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, linkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { namesOf } from '../../../adapters/sandbox/container-files.ts';
import { readTar, writeTar } from '../../../adapters/sandbox/tar.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadenza-tar-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function entriesOf(bytes: Uint8Array, size = 700): Promise<unknown[]> {
  const entries: unknown[] = [];
  for await (const { path, type, chunks } of readTar(inChunks(bytes, size))) {
    const parts: Uint8Array[] = [];
    // What is not read is skipped.
    if (!path.includes('skipped')) for await (const chunk of chunks) parts.push(chunk);
    entries.push([path, type, Buffer.concat(parts).toString()]);
  }
  return entries;
}

const LONG = `${'ä'.repeat(100)}.txt`;

test('what is written can be read, by GNU tar too', async () => {
  const file = (path: string, text: string) => ({
    path,
    size: Buffer.byteLength(text),
    chunks: async () => inChunks(Buffer.from(text), 5),
  });
  const parts: Uint8Array[] = [];
  const folders = [{ path: 'in', uid: 0, gid: 0 }];
  for await (const part of writeTar(folders, [file('in/a', 'x'.repeat(512)), file(`in/${LONG}`, 'ünicode')]))
    parts.push(part);
  const archive = Buffer.concat(parts);
  expect(await entriesOf(archive, 13)).toEqual([
    ['in/', 'folder', ''],
    ['in/a', 'file', 'x'.repeat(512)],
    [`in/${LONG}`, 'file', 'ünicode'],
  ]);
  execFileSync('tar', ['-C', folder, '-xf', '-'], { input: archive });
  expect(readFileSync(join(folder, 'in', LONG), 'utf8')).toBe('ünicode');
});

test.each(['gnu', 'pax', 'ustar'])('folders, links and skipped files of a %s archive', async (format) => {
  const root = join(folder, format);
  mkdirSync(join(root, 'out/deep'), { recursive: true });
  const name = format === 'ustar' ? 'short.txt' : LONG;
  writeFileSync(join(root, 'out', name), 'content');
  writeFileSync(join(root, 'out/skipped'), 'y'.repeat(3_000));
  writeFileSync(join(root, 'out/deep/inner'), '1');
  symlinkSync('/etc/passwd', join(root, 'out/link'));
  linkSync(join(root, 'out/deep/inner'), join(root, 'out/same'));
  const order = ['out/skipped', 'out/link', `out/${name}`, 'out/deep', 'out/same'];
  const archive = execFileSync('tar', ['-C', root, `--format=${format}`, '-cf', '-', ...order]);
  expect(await entriesOf(archive)).toEqual([
    ['out/skipped', 'file', ''],
    ['out/link', 'other', ''],
    [`out/${name}`, 'file', 'content'],
    ['out/deep/', 'folder', ''],
    ['out/deep/inner', 'file', '1'],
    ['out/same', 'other', ''],
  ]);
});

test('what is no archive, or only a part of one, is an error', async () => {
  await expect(entriesOf(Buffer.alloc(2_048, 1))).rejects.toThrow('this is no archive');
  const archive = execFileSync('tar', ['-C', folder, '-cf', '-', 'in']);
  await expect(entriesOf(archive.subarray(0, 2_048))).rejects.toThrow('ends early');
});

test('files get names that a folder can take: different, without folders, of at most 255 bytes', () => {
  const long = `${'長'.repeat(200)}.pdf`;
  const names = namesOf(['a/b', '..', '', long, long].map((name) => ({ name })));
  expect(names.slice(0, 3)).toEqual(['a_b', 'file', '2-file']);
  expect(names[3]).toMatch(/^長{80,}\.pdf$/);
  expect(names[4]).toBe(`2-${names[3]}`);
  expect(names.every((name) => Buffer.byteLength(name) <= 255)).toBe(true);
});
