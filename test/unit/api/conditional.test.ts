import { expect, test } from '@jest/globals';
import type { Context } from 'koa';

import { checkIfMatch, etag, mergePatch, preferredWaitSeconds } from '../../../api/conditional.ts';
import { unstorable } from '../../../api/middleware/body.ts';

/** Of a context, these look at headers only. */
function withHeaders(headers: Record<string, string>): Context {
  return { get: (name: string) => headers[name.toLowerCase()] ?? '' } as Context;
}

test('merge patch, with the examples of RFC 7396', () => {
  const cases: [unknown, unknown, unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [['a', 'b'], ['c', 'd'], ['c', 'd']],
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

test('If-Match: the same tag, any, one of several; weak ones never match', () => {
  const tag = etag('id', new Date(0));
  for (const value of ['', '*', tag, `"other", ${tag}`]) {
    expect(() => checkIfMatch(withHeaders({ 'if-match': value }), tag)).not.toThrow();
  }
  for (const value of ['"other"', `W/${tag}`, 'nonsense']) {
    expect(() => checkIfMatch(withHeaders({ 'if-match': value }), tag)).toThrow('changed');
  }
  expect(etag('id', 1)).not.toBe(etag('id', 2));
});

test('Prefer: wait', () => {
  const cases: [string, number | null][] = [
    ['', null], ['wait=5', 5], ['respond-async, wait=10', 10], ['wait=600', 60], ['wait = "7"', 7], ['await=5', null], ['wait=x', null], ['wait=0', 0],
  ];
  for (const [value, seconds] of cases) {
    expect([value, preferredWaitSeconds(withHeaders({ prefer: value }))]).toEqual([value, seconds]);
  }
});

test('text that PostgreSQL cannot hold is found wherever it is', () => {
  const found = unstorable({ ok: '😀', a: ['x\0'], 'b\ud800': 1, c: { 'd/e': '\udc00' }, n: Infinity });
  expect(found.map(({ pointer, code }) => [pointer, code])).toEqual([
    ['/a/0', 'invalid_characters'], ['/b\ufffd', 'invalid_characters'], ['/c/d~1e', 'invalid_characters'], ['/n', 'out_of_range'],
  ]);
});
