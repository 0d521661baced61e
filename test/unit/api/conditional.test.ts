import { expect, test } from '@jest/globals';
import type { Context } from 'koa';

import { checkIfMatch, etag, mergePatch, preferredWaitSeconds } from '../../../api/conditional.ts';
import { unstorable } from '../../../api/middleware/body.ts';

/** A context that has headers and nothing else: all that these functions read. */
function withHeaders(headers: Record<string, string>): Context {
  return { get: (name: string) => headers[name.toLowerCase()] ?? '' } as Context;
}

test('a merge patch follows the examples of RFC 7396', () => {
  const cases: [unknown, unknown, unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'foo' }, null, null],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [target, patch, result] of cases) {
    expect(mergePatch(target, patch)).toEqual(result);
  }
  const own = mergePatch({}, JSON.parse('{"__proto__": {"polluted": true}}'));
  expect([Object.hasOwn(own as object, '__proto__'), 'polluted' in {}]).toEqual([true, false]);
});

test('If-Match accepts the same tag, * and a list with the tag; a weak tag never matches', () => {
  const tag = etag('id', new Date(0));
  for (const value of ['', '*', tag, `"other", ${tag}`]) {
    expect(() => checkIfMatch(withHeaders({ 'if-match': value }), tag)).not.toThrow();
  }
  for (const value of ['"other"', `W/${tag}`, 'nonsense']) {
    expect(() => checkIfMatch(withHeaders({ 'if-match': value }), tag)).toThrow('changed');
  }
  expect(etag('id', 1)).not.toBe(etag('id', 2));
});

test('the wait preference of Prefer is read in seconds, up to 60', () => {
  const cases: [string, number | null][] = [
    ['', null],
    ['wait=5', 5],
    ['respond-async, wait=10', 10],
    ['wait=600', 60],
    ['wait = "7"', 7],
    ['await=5', null],
    ['wait=x', null],
    ['wait=0', 0],
  ];
  for (const [value, seconds] of cases) {
    expect([value, preferredWaitSeconds(withHeaders({ prefer: value }))]).toEqual([value, seconds]);
  }
});

test('unstorable() finds every text and number that PostgreSQL cannot hold', () => {
  const found = unstorable({ ok: '😀', a: ['x\0'], 'b\ud800': 1, c: { 'd/e': '\udc00' }, n: Infinity });
  expect(found.map(({ pointer, code }) => [pointer, code])).toEqual([
    ['/a/0', 'invalid_characters'],
    ['/b\ufffd', 'invalid_characters'],
    ['/c/d~1e', 'invalid_characters'],
    ['/n', 'out_of_range'],
  ]);
});
