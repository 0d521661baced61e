import { expect, test } from '@jest/globals';
import { loggedError, type DslError } from '../../../contracts/dsl-error.ts';

test('the log has an error as it is, unless one of its texts is long', () => {
  const error: DslError = { type: 'https://example.com/broken', status: 500, detail: 'd'.repeat(8_192) };
  expect(loggedError(error)).toBe(error);
  expect(loggedError({ type: 't', status: 400 })).toEqual({ type: 't', status: 400 });
});

test('long texts are cut, between characters, and the rest stays', () => {
  const error: DslError = {
    type: `https://example.com/${'t'.repeat(3_000)}`,
    status: 500,
    title: 'Broken',
    detail: `${'d'.repeat(8_191)}😀${'d'.repeat(100_000)}`,
    instance: '/do/0/a',
  };
  expect(loggedError(error)).toEqual({
    type: `${error.type.slice(0, 2_048)}…`,
    status: 500,
    title: 'Broken',
    detail: `${'d'.repeat(8_191)}…`,
    instance: '/do/0/a',
  });
  expect(loggedError(loggedError(error)).detail).toHaveLength(8_192);
});
