/** docs/adr/0001-dependencies.md says of every dependency why it is there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<'dependencies' | 'devDependencies', Record<string, string>>;
const rows = readFileSync(join(root, 'docs/adr/0001-dependencies.md'), 'utf8').split('\n').filter((line) => line.startsWith('| `'));
const described = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ''));

test('every dependency has its line, and every line a dependency', () => {
  expect(described.toSorted()).toEqual([...Object.keys(dependencies), ...Object.keys(devDependencies)].toSorted());
});

test('each line says licence, size, purpose and reason', () => {
  for (const row of rows) {
    const [licence = '', purpose = '', reason = ''] = row.split('|').slice(2).map((cell) => cell.trim());
    expect([row, /\b(MIT|ISC|BSD|Apache-2\.0)\b/.test(licence), /MB|binaries/.test(licence), purpose !== '', reason !== '']).toEqual([row, true, true, true, true]);
  }
});

test('versions are exact, but for types', () => {
  const exact = /^(npm:@?[\w/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/;
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(([name, version]) => !name.startsWith('@types/') && !exact.test(version));
  expect(loose).toEqual([]);
});
