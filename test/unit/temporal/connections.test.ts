import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { sourceFiles } from '../../support/source-files.ts';

const root = join(import.meta.dirname, '../../..');

// A connection without them throws from a timer when it is closed early, in whatever test runs by then.
test('each file that opens a connection to Temporal gives it our interceptors', () => {
  const opens = /[^a-zA-Z]Connection\.(connect|lazy)\(/;
  const files = sourceFiles(root, /\.ts$/).filter((file) =>
    opens.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(files.toSorted()).toEqual(['dev/temporal.ts', 'temporal/client.ts']);
  for (const file of files)
    expect(readFileSync(join(root, file), 'utf8')).toContain('interceptors: CONNECTION_INTERCEPTORS');
});
