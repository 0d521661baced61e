import { expect, test } from '@jest/globals';

test('the project runs on the Node it pins, not on the one it was installed with', () => {
  expect(Number(process.versions.node.split('.')[0])).toBe(24);
});
