import { expect, test } from '@jest/globals';
import { humanTasks, namedPeople } from '../../../../language/definition/human-tasks.ts';

const definition = {
  use: {
    functions: { ask: { call: 'human', with: { title: 'Well?', assignee: 'bea', escalate: 'later' } } },
  },
  do: [
    {
      'a/b': {
        call: 'human',
        with: {
          title: 'Go?',
          assignee: '${ .boss }',
          candidates: {
            users: 'ann',
            groups: ['staff', '${ .group }', 3],
            teams: ['legal'],
            roles: ['admin'],
          },
          escalate: [{ after: 'PT1H', to: { users: ['bob'] } }],
          quorum: { exclude: { users: 'cara', groups: ['interns'] } },
        },
      },
    },
    { call: { call: 'ask' } },
    { other: { set: { call: 'human', with: { assignee: 'nobody' } } } },
  ],
};

test('the tasks that ask people, and whom they name literally', () => {
  expect(humanTasks(definition).map(({ pointer }) => pointer)).toEqual(['/do/0/a~1b', '/use/functions/ask']);
  const place = '/do/0/a~1b/with';
  expect(namedPeople(definition)).toEqual([
    { pointer: `${place}/candidates/users`, kind: 'user', name: 'ann', excluded: false },
    { pointer: `${place}/candidates/groups/0`, kind: 'group', name: 'staff', excluded: false },
    { pointer: `${place}/candidates/teams/0`, kind: 'team', name: 'legal', excluded: false },
    { pointer: `${place}/escalate/0/to/users/0`, kind: 'user', name: 'bob', excluded: false },
    { pointer: `${place}/quorum/exclude/users`, kind: 'user', name: 'cara', excluded: true },
    { pointer: `${place}/quorum/exclude/groups/0`, kind: 'group', name: 'interns', excluded: true },
    { pointer: '/use/functions/ask/with/assignee', kind: 'user', name: 'bea', excluded: false },
  ]);
});

test('what is no definition names nobody', () => {
  for (const value of [null, 'x', {}, { do: [{ a: { call: 'human' } }, { b: { call: 'human', with: 1 } }] }])
    expect(namedPeople(value)).toEqual([]);
});
