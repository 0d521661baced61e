import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';
import * as z from 'zod';

import { UNDECIDED } from '../../../contracts/hitl.ts';
import { LIVE_STATUSES, UNDER_WAY_STATUSES } from '../../../contracts/run-events.ts';
import { isLowercaseUuid, isUuid } from '../../../contracts/uuid.ts';
import {
  arrayLiteral,
  Conditions,
  insertRow,
  isNoneOf,
  isOneOf,
  containsPattern,
  decodeCursor,
  encodeCursor,
  escapeLike,
} from '../../../db/sql.ts';

const root = join(import.meta.dirname, '../../..');

describe('arrayLiteral', () => {
  it('quotes every value, so that null and blanks are texts', () => {
    expect(arrayLiteral(['a', 'null', ''])).toBe('{"a","null",""}');
  });

  it('escapes quotes and backslashes alone, so that PostgreSQL reads a line break as one', () => {
    expect(arrayLiteral(['a\nb', 'say "hi"', 'back\\slash'])).toBe('{"a\nb","say \\"hi\\"","back\\\\slash"}');
  });

  it('takes any iterable', () => {
    expect(arrayLiteral(new Set(['a', 'a']))).toBe('{"a"}');
    expect(arrayLiteral([])).toBe('{}');
  });
});

describe('patterns', () => {
  it('escape what `like` gives a meaning', () => {
    expect(escapeLike('50%_\\')).toBe('50\\%\\_\\\\');
    expect(containsPattern('a_b')).toBe('%a\\_b%');
  });
});

describe('lists of constants', () => {
  it('become literals', () => {
    expect(isOneOf('t.status', UNDECIDED)).toBe("t.status in ('open', 'claimed')");
    expect(isNoneOf('t.status', UNDECIDED)).toBe("t.status not in ('open', 'claimed')");
  });

  it('are those of the partial indexes, which PostgreSQL uses for the same list only', () => {
    const schema = readFileSync(join(root, 'db/schema.sql'), 'utf8');
    const lists = [LIVE_STATUSES, UNDER_WAY_STATUSES, UNDECIDED];
    const indexed = schema
      .split('\n')
      .filter((line) => line.startsWith('CREATE INDEX'))
      .flatMap((line) => [...line.matchAll(/status = ANY \(ARRAY\[(.*?)\]\)/g)])
      .map(([, list = '']) => [...list.matchAll(/'(\w+)'/g)].map(([, status]) => status));
    expect(new Set(indexed.map(String))).toEqual(new Set(lists.map(String)));
  });
});

describe('lists of statuses', () => {
  const listed = /status (?:not )?in \('/;

  it('are spelt out in no SQL string', () => {
    const sources = ['domain', 'api', 'activities', 'worker'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => `${folder}/${file}`),
    );
    expect(sources.length).toBeGreaterThan(200);
    expect(sources.filter((file) => listed.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
    expect("where t.status not in ('open')").toMatch(listed);
  });
});

describe('insertRow', () => {
  it('names each column with its type', () => {
    expect(insertRow<{ id: string; tags: string[] }>('t', { id: 'uuid', tags: 'text[]' })).toBe(
      `insert into t (id, tags) select id, tags from json_to_record(?::json)
    as r (id uuid, tags text[])`,
    );
  });

  it('takes no other columns than those of the row', () => {
    // @ts-expect-error: the column `tags` is missing.
    insertRow<{ id: string; tags: string[] }>('t', { id: 'uuid' });
    // @ts-expect-error: the column is misspelt.
    expect(insertRow<{ id: string }>('t', { idd: 'uuid' })).toContain('idd');
  });
});

describe('Conditions', () => {
  it('joins conditions and keeps their values in order', () => {
    const where = new Conditions().add('a = ?', 1).add('b is null').add('(c = ? or d = ?)', 2, 3);
    expect(where.sql).toBe('a = ? and b is null and (c = ? or d = ?)');
    expect(where.values).toEqual([1, 2, 3]);
  });

  it('is true without a condition', () => {
    expect(new Conditions().sql).toBe('true');
  });
});

describe('cursors', () => {
  it('come back as the key that they hold', () => {
    expect(decodeCursor(encodeCursor([-3, 'ä']))).toEqual([-3, 'ä']);
  });

  it('throw on an invalid cursor', () => {
    expect(() => decodeCursor('%')).toThrow(SyntaxError);
  });
});

describe('UUIDs', () => {
  const lower = '0199a3c4-7b1e-7c3d-9f2a-0123456789ab';

  it.each([
    ['in lower case', lower, true, true],
    ['in upper case', lower.toUpperCase(), true, false],
    ['of no version', '00000000-0000-0000-0000-000000000000', true, true],
    ['without hyphens', lower.replaceAll('-', ''), false, false],
    ['36 hyphens', '-'.repeat(36), false, false],
    ['followed by a line break', `${lower}\n`, false, false],
    ['in braces', `{${lower}}`, false, false],
  ])('%s', (_, text, uuid, lowercase) => {
    expect(isUuid(text)).toBe(uuid);
    expect(isLowercaseUuid(text)).toBe(lowercase);
    expect(z.guid().safeParse(text).success).toBe(uuid);
  });
});
