/** docs/adr/0001-dependencies.md gives the reason for every dependency. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const { dependencies, devDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as Record<'dependencies' | 'devDependencies', Record<string, string>>;
const rows = readFileSync(join(root, 'docs/adr/0001-dependencies.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `'));
const described = rows.flatMap((row) =>
  [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ''),
);

test('the table of dependencies lists exactly those of package.json', () => {
  expect(described.toSorted()).toEqual(
    [...Object.keys(dependencies), ...Object.keys(devDependencies)].toSorted(),
  );
});

test('each row of the table gives licence, size, purpose and reason', () => {
  for (const row of rows) {
    const [licence = '', purpose = '', reason = ''] = row
      .split('|')
      .slice(2)
      .map((cell) => cell.trim());
    expect([
      row,
      /\b(MIT|ISC|BSD|Apache-2\.0|MPL-2\.0|Unlicense)\b/.test(licence),
      /MB|binaries/.test(licence),
      purpose !== '',
      reason !== '',
    ]).toEqual([row, true, true, true, true]);
  }
});

test('every version is exact', () => {
  const exact = /^(npm:@?[\w/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/;
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
    ([, version]) => !exact.test(version),
  );
  expect(loose).toEqual([]);
});
