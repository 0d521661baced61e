/** Prettier does not break strings, comments and SQL. This check keeps them within its width too. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

import { sourceFiles } from '../../support/source-files.ts';

const root = join(import.meta.dirname, '../../..');
const MAX_COLUMNS = 110;

test('no line of code is wider than 110 columns', () => {
  const files = sourceFiles(root, /\.(ts|mjs|cjs)$/);
  expect(files.length).toBeGreaterThan(500);
  expect(files.flatMap(wideLines)).toEqual([]);
});

/** Columns are UTF-16 units, as Prettier counts all but wide characters. */
function wideLines(file: string): string[] {
  return readFileSync(join(root, file), 'utf8')
    .split('\n')
    .flatMap((line, index) =>
      line.length > MAX_COLUMNS ? [`${file}:${index + 1}: ${line.length} columns`] : [],
    );
}
