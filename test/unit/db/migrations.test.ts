import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { migrationNames } from '../../../db/migrations/index.ts';

test('the name of a migration begins with a UTC minute that no other has', () => {
  for (const name of migrationNames) {
    expect(name).toMatch(/^\d{12}-[a-z0-9]+(-[a-z0-9]+)*$/);
    const [, ...parts] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)-/.exec(name) ?? [];
    const [year, month, day, hour, minute] = parts;
    const at = new Date(`${year}-${month}-${day}T${hour}:${minute}:00.000Z`);
    expect(at.toISOString().replaceAll(/\D/g, '').slice(0, 12)).toBe(parts.join(''));
  }
  const minutes = migrationNames.map((name) => name.slice(0, 12));
  expect(minutes).toEqual([...new Set(minutes)]);
});

test('the initial schema is the first', () => {
  expect(migrationNames[0]).toBe('202611220850-initial-schema');
});

test('the list of migrations names every file of the folder', () => {
  const files = readdirSync(join(import.meta.dirname, '../../../db/migrations')).filter(
    (file) => file.endsWith('.ts') && file !== 'index.ts',
  );
  expect(files.toSorted()).toEqual(migrationNames.map((name) => `${name}.ts`).toSorted());
});
