import { expect, test } from '@jest/globals';
import { storable } from '../../../domain/storable.ts';

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
