import { expect, test } from '@jest/globals';

import { isFileListSchema, isFileSchema, referenceTo } from '../../../contracts/file-reference.ts';

const file = { id: 'f1', name: 'a.pdf', media_type: 'application/pdf', size: 3, sha256: 'ab' };
const whole = { file_id: 'f1', name: 'a.pdf', media_type: 'application/pdf', size: 3, sha256: 'ab' };

test('a file fills an object that has a file_id and needs nothing that a reference lacks', () => {
  const properties = { file_id: { type: 'string' } };
  expect(isFileSchema({ properties })).toBe(true);
  expect(isFileSchema({ type: 'object', properties, required: ['file_id', 'media_type'] })).toBe(true);
  expect(isFileSchema({ type: 'object', properties, required: ['file_id', 'page'] })).toBe(false);
  expect(isFileSchema({ type: 'array', properties })).toBe(false);
  expect(isFileSchema({ type: 'object' })).toBe(false);
  expect(isFileSchema({ type: 'object', properties: { name: {} } })).toBe(false);
});

test('a reference has no more than the schema allows', () => {
  const properties = { file_id: {}, size: {} };
  expect(referenceTo(file)).toEqual(whole);
  expect(referenceTo(file, { properties })).toEqual(whole);
  for (const closed of ['additionalProperties', 'unevaluatedProperties'])
    expect(referenceTo(file, { properties, [closed]: false })).toEqual({ file_id: 'f1', size: 3 });
});

test('files fill an array of which each entry is one', () => {
  const items = { properties: { file_id: { type: 'string' } } };
  expect(isFileListSchema({ type: 'array', items })).toBe(true);
  expect(isFileListSchema({ type: 'array', items, maxItems: 2 })).toBe(true);
  expect(isFileListSchema({ items })).toBe(false);
  expect(isFileListSchema({ type: 'array' })).toBe(false);
  expect(isFileListSchema({ type: 'array', items: true })).toBe(false);
  expect(isFileListSchema({ type: 'array', items, prefixItems: [items] })).toBe(false);
  expect(isFileListSchema({ type: 'array', items: { ...items, required: ['page'] } })).toBe(false);
});
