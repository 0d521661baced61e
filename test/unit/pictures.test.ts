/** The pictures of the README: the script writes those that it shows, and they are small. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PICTURES } from '../../dev/pictures.ts';

const root = join(import.meta.dirname, '../..');
const files = PICTURES.map((name) => `${name}.webp`);
const MAX_BYTES = 60 * 1024;

test('the README shows the pictures that npm run pictures writes, each with a description', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const shown = [...readme.matchAll(/!\[([^\]]+)\]\(docs\/pictures\/([^)]+)\)/g)];
  expect(shown.map(([, , file]) => file)).toEqual(files);
  expect(shown.filter(([, description = '']) => description.length < 10)).toEqual([]);
  expect(readdirSync(join(root, 'docs/pictures')).toSorted()).toEqual(files.toSorted());
});

test.each(files)('%s is a small WebP, and Git takes it as binary', (file) => {
  const bytes = readFileSync(join(root, 'docs/pictures', file));
  expect([bytes.toString('latin1', 0, 4), bytes.toString('latin1', 8, 12)]).toEqual(['RIFF', 'WEBP']);
  expect(bytes.length).toBeLessThan(MAX_BYTES);
  expect(readFileSync(join(root, '.gitattributes'), 'utf8')).toContain('*.webp binary');
});
