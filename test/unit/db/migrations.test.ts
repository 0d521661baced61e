import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { migrationNames } from '../../../db/migrations/index.ts';

/** Landed before numbers had to be unique; databases remember their names, so they stay. */
const twice = ['0007-rate-limit', '0007-files', '0007-webhooks', '0010-retention', '0010-a2a-dialect'];

test('every migration has a number of its own; the order is that of the list', () => {
  for (const name of migrationNames) expect(name).toMatch(/^\d{4}-[a-z0-9-]+$/);
  const numbers = migrationNames.filter((name) => !twice.includes(name)).map((name) => Number(name.slice(0, 4)));
  expect(numbers.filter((number, index) => numbers.indexOf(number) !== index || number === 7 || number === 10)).toEqual([]);
  // Those that share one have run in this order everywhere.
  expect(migrationNames.filter((name) => twice.includes(name))).toEqual(twice);
});

test('the list and the folder hold the same', () => {
  const files = readdirSync(join(import.meta.dirname, '../../../db/migrations')).filter((file) => file !== 'index.ts');
  expect(files.toSorted()).toEqual(migrationNames.map((name) => `${name}.ts`).toSorted());
});
