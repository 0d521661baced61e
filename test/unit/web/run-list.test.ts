/** The list of runs: what it asks the server for, and actions on several of them. */
import { expect, test } from '@jest/globals';

import {
  filterOf,
  outcomeOf,
  queryOf,
  runsFor,
  showsRun,
  type ListedRun,
} from '../../../web/src/screens/runs/run-list.ts';

const now = Date.parse('2026-01-02T00:00:00Z');
const run = (given: Partial<ListedRun>): ListedRun =>
  // Only the fields that the tested functions read.
  ({
    status: 'running',
    owner_id: 'me',
    workflow_id: 'w',
    created_at: '2026-01-01T23:30:00Z',
    ...given,
  }) as ListedRun;

test('the address is the filter, and what it does not know is ignored', () => {
  const filter = filterOf({
    status: 'faulted',
    owner: 'me',
    tag: 'money',
    key: 'A-1',
    since: 'PT1H',
    workflow: 'w',
    team: 't',
    q: 'x',
  });
  expect(queryOf(filter, now)).toEqual({
    status: 'faulted',
    owner_id: 'me',
    tag: 'money',
    key: 'A-1',
    created_after: '2026-01-01T23:00:00.000Z',
    workflow_id: 'w',
    team_id: 't',
    q: 'x',
  });
  for (const since of ['P1Y', 'constructor', ''])
    expect(queryOf(filterOf({ since, other: 'y' }), now)).toEqual({});
});

test('a run that changes is shown if the filter asks for it', () => {
  const filter = filterOf({ owner: 'me', since: 'PT1H', workflow: 'w' });
  const changed = [
    run({}),
    run({ owner_id: 'other' }),
    run({ created_at: '2026-01-01T22:59:59Z' }),
    run({ workflow_id: null }),
  ];
  expect(changed.map((one) => showsRun(filter, one, 'me', now))).toEqual([true, false, false, false]);
  expect(changed.map((one) => showsRun(filterOf({}), one, 'me', now))).toEqual([true, true, true, true]);
  const ofTeam = [run({ team_id: 't' }), run({ team_id: null })];
  expect(ofTeam.map((one) => showsRun(filterOf({ team: 't' }), one, 'me', now))).toEqual([true, false]);
  const keyed = [run({ key: 'A-1' }), run({ key: null })];
  expect(keyed.map((one) => showsRun(filterOf({ key: 'A-1' }), one, 'me', now))).toEqual([true, false]);
});

test('an action is for the runs that can take it, and says what became of them', () => {
  const runs = [run({ can: ['cancel'] }), run({ can: ['retry'] }), run({ can: [] })];
  expect(runsFor('cancel', runs)).toEqual([run({ can: ['cancel'] })]);
  const refused = (id: string, detail: string) => ({ id, status: 409, problem: { detail } });
  const results = [
    { id: 'a', status: 200 },
    refused('b', 'over'),
    refused('c', 'over'),
    refused('d', 'gone'),
  ];
  // Only the fields that the function reads.
  expect(outcomeOf(results as Parameters<typeof outcomeOf>[0])).toEqual({
    done: 1,
    refused: [
      ['over', 2],
      ['gone', 1],
    ],
  });
});
