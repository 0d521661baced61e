/** An erasure has to know every column with text: it is searched, or a reason says why not. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

import { NOT_SEARCHED } from '../../../domain/privacy/not-searched.ts';
import { TEXT_PLACES } from '../../../domain/privacy/search-texts.ts';
import { columnsOf, STAYS } from '../../../domain/privacy/text-place.ts';

const schema = readFileSync(join(import.meta.dirname, '../../../db/schema.sql'), 'utf8');

/** The columns that may hold text, as `table.column`, and the primary keys. */
function readSchema(): { texts: string[]; keys: Map<string, string[]>; types: Map<string, string> } {
  const texts: string[] = [];
  const keys = new Map<string, string[]>();
  const types = new Map<string, string>();
  for (const [, table = '', body = ''] of schema.matchAll(
    /^create (?:unlogged )?table (\w+) \(\n(.*?)^\)/gms,
  )) {
    for (const line of body.split('\n')) {
      const key = /PRIMARY KEY \((.*?)\)/.exec(line)?.[1];
      if (key !== undefined) keys.set(table, key.replaceAll('"', '').split(', '));
      const [, column = '', type = ''] =
        /^ {2}"?(\w+)"? (timestamp with time zone|[\w[\]]+)/.exec(line) ?? [];
      if (column === '' || column === 'constraint') continue;
      types.set(`${table}.${column}`, type.replace('timestamp with time zone', 'timestamptz'));
      if (/^(text|json|jsonb|bytea|varchar|character|xml)/.test(type)) texts.push(`${table}.${column}`);
    }
  }
  return { texts, keys, types };
}

const searched = TEXT_PLACES.flatMap((place) => columnsOf(place).map((column) => `${place.table}.${column}`));
const others = NOT_SEARCHED.flatMap(([, columns]) =>
  Object.entries(columns).flatMap(([table, names]) => names.split(' ').map((name) => `${table}.${name}`)),
);

test('every column with text is searched for names, or has a reason why not', () => {
  const { texts } = readSchema();
  expect(texts.length).toBeGreaterThan(300);
  const known = new Set([...searched, ...others]);
  const hint =
    'add it to a list of domain/privacy/not-searched.ts, or to the places that search-texts.ts has';
  expect(texts.filter((column) => !known.has(column)).map((column) => `${column}: ${hint}`)).toEqual([]);
  expect([...searched, ...others].toSorted()).toEqual(texts.toSorted());
});

test('what is searched is paged by its primary key, and its columns have the types that it says', () => {
  const { keys, types } = readSchema();
  const json = ['json', 'jsonb'];
  const ofType = { text: ['text'], body: ['text'], texts: ['text[]'], json, record: json };
  for (const { table, key, texts = {} } of TEXT_PLACES) {
    expect([table, key.map((column) => column.split(' ')[0])]).toEqual([table, keys.get(table)]);
    for (const column of key) {
      const [name = '', type] = column.split(' ');
      expect([table, name, type]).toEqual([table, name, types.get(`${table}.${name}`)]);
    }
    for (const [column, type] of Object.entries(texts))
      expect(ofType[type]).toContain(types.get(`${table}.${column}`));
  }
});

test('each kind of record has a name of its own', () => {
  const kinds = TEXT_PLACES.map(({ kind }) => kind);
  expect(new Set(kinds).size).toBe(kinds.length);
  for (const why of Object.values(STAYS)) expect(why).toMatch(/\.$/);
});
