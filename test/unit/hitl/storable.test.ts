import { expect, test } from '@jest/globals';
import { storable, storableJson } from '../../../domain/storable.ts';

test('storable() escapes NUL and replaces lone surrogates at any depth, and keeps the rest', () => {
  const given = { 'k\0': ['a\0b', { deep: 'x\ud800' }], n: 1, no: null, yes: true, pair: '😀' };
  expect(storable(given)).toEqual({
    'k\\u0000': ['a\\u0000b', { deep: 'x\ufffd' }],
    n: 1,
    no: null,
    yes: true,
    pair: '😀',
  });
  expect(storable('plain')).toBe('plain');
});

test('storableJson() is the JSON of storable()', () => {
  const pair = String.fromCodePoint(0x1_f6_00);
  for (const value of [
    { 'k\0': ['a\0b'] },
    ['x\ud800', '\udc00'],
    String.raw`\u0000`,
    pair,
    { a: [1, null] },
  ])
    expect(storableJson(value)).toBe(JSON.stringify(storable(value)));
});
