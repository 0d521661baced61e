/** docs/cli.md and cli/listed.ts are the declarations of the commands. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { format, resolveConfig } from 'prettier';

import { cliDocs, cliList } from '../../../dev/cli-docs.ts';

const file = join(import.meta.dirname, '../../../docs/cli.md');

test('docs/cli.md lists what the commands declare; npm run cli-docs writes it', async () => {
  const written = readFileSync(file, 'utf8');
  const options = { ...(await resolveConfig(file)), parser: 'markdown' };
  expect(written).toBe(await format(await cliDocs(written), options));
});

test('the list of commands is what they declare; npm run cli-docs writes it', async () => {
  const list = join(import.meta.dirname, '../../../cli/listed.ts');
  const options = { ...(await resolveConfig(list)), filepath: list };
  expect(readFileSync(list, 'utf8')).toBe(await format(await cliList(), options));
});

test('every command has a line of help that ends without a period, and every argument one too', () => {
  const briefs = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('- `'));
  expect(briefs.length).toBeGreaterThan(20);
  expect(briefs.filter((line) => /\.$|: $/.test(line))).toEqual([]);
});
