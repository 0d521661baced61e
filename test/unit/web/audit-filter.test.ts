/** What the console's audit log asks the server for. */
import { expect, test } from '@jest/globals';

import {
  ACTIONS,
  actionNamed,
  actionText,
  exportAddress,
  filterOf,
  isoTime,
  localTime,
  NO_FILTER,
} from '../../../web/src/screens/settings/audit-filter.ts';

test('the address is the filter, and what it does not know or says wrong is ignored', () => {
  const given = {
    actor_id: 'me',
    action: 'updateWorkflow',
    object_type: 'workflow',
    object_id: 'w 1',
    address: '10.0.0.1',
    team_id: 't-1',
    from: '2026-01-31T08:30:00Z',
    to: 'soon',
    outcome: 'perhaps',
    other: 'x',
  };
  const filter = filterOf(given);
  expect(filter).toEqual({
    actor_id: 'me',
    action: 'updateWorkflow',
    object_type: 'workflow',
    object_id: 'w 1',
    address: '10.0.0.1',
    team_id: 't-1',
    from: '2026-01-31T08:30:00.000Z',
  });
  expect(filterOf({ outcome: 'refused', action: '' })).toEqual({ outcome: 'refused' });
  expect(filterOf({ ...given, ...NO_FILTER })).toEqual({});
  expect(exportAddress({})).toBe('/audit/export?format=csv');
  expect(exportAddress({ object_id: 'w 1', outcome: 'done' })).toBe(
    '/audit/export?format=csv&object_id=w+1&outcome=done',
  );
});

test('each action is found by its name, and by the words in which the table says it', () => {
  expect(ACTIONS.map(actionNamed)).toEqual(ACTIONS);
  expect(ACTIONS.map((action) => actionNamed(actionText(action)))).toEqual(ACTIONS);
  expect(['decide human task', 'Log in', 'whatever', 'updateWorkfow'].map(actionNamed)).toEqual([
    'decideHumanTask',
    'log_in',
    'whatever',
    'updateWorkfow',
  ]);
});

test('a time is the same in its field and in the address', () => {
  const iso = new Date(2026, 0, 31, 8, 30).toISOString();
  expect(localTime(iso)).toBe('2026-01-31T08:30');
  expect(isoTime(localTime(iso))).toBe(iso);
  expect([localTime(undefined), localTime('soon'), isoTime('')]).toEqual(['', '', undefined]);
});
