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
  expect(files.toSorted()).toEqual([
    'dev/temporal-watch.ts',
    'dev/temporal.ts',
    'temporal/client.ts',
    'test/bench/baseline/bare-api.ts',
  ]);
  // The watch repeats nothing, so nothing is thrown from a timer.
  for (const file of files)
    expect(readFileSync(join(root, file), 'utf8')).toContain(
      file === 'dev/temporal-watch.ts' ? 'interceptors: []' : 'interceptors: CONNECTION_INTERCEPTORS',
    );
});
