import { expect, test } from '@jest/globals';
import { storable } from '../../../domain/storable.ts';

test('NUL is written out, halves of surrogate pairs are replaced, at any depth; the rest stays', () => {
  const given = { 'k\0': ['a\0b', { deep: 'x\ud800' }], n: 1, no: null, yes: true, pair: '😀' };
  expect(storable(given)).toEqual({ 'k\\u0000': ['a\\u0000b', { deep: 'x\ufffd' }], n: 1, no: null, yes: true, pair: '😀' });
  expect(storable('plain')).toBe('plain');
});
