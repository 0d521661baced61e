import { expect, test } from '@jest/globals';

test('tests run on the pinned Node.js, not on the one of the machine', () => {
  expect(Number(process.versions.node.split('.')[0])).toBe(24);
});
