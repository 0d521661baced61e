import { expect, test } from '@jest/globals';

import { counted } from '../../../contracts/counted.ts';

test('one is named in the singular, anything else in the plural', () => {
  expect([0, 1, 2, 1.5].map((days) => counted(days, 'day'))).toEqual([
    '0 days',
    '1 day',
    '2 days',
    '1.5 days',
  ]);
  expect([1, 2].map((count) => counted(count, 'entry', 'entries'))).toEqual(['1 entry', '2 entries']);
});
