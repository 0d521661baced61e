/** The console offers what the user's role may do, by the roles of the API's operations. */
import { expect, test } from '@jest/globals';

import { isAllowed, roleFor } from '../../../web/src/data/rights.ts';

test('a role includes the rights of the roles below it', () => {
  expect(roleFor('createAgent')).toBe('builder');
  expect(isAllowed('createAgent', ['viewer'])).toBe(false);
  expect(isAllowed('createAgent', ['approver'])).toBe(false);
  expect(isAllowed('createAgent', ['viewer', 'builder'])).toBe(true);
  expect(isAllowed('createAgent', ['admin'])).toBe(true);
  expect(isAllowed('listAgents', ['viewer'])).toBe(true);
  expect(isAllowed('listUsers', ['builder'])).toBe(false);
});

test('an operation without a role is for everybody', () => {
  expect(roleFor('getHealth')).toBeNull();
  expect(isAllowed('getHealth', [])).toBe(true);
  expect(isAllowed('listAgents', [])).toBe(false);
});
