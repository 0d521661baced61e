import { expect, test } from '@jest/globals';
import { ownerTasks } from '../../../../language/definition/owner-tasks.ts';

const human = (more: Record<string, unknown> = {}) => ({
  review: { call: 'human', with: { title: 'Go?', ...more } },
});

test.each<[string, object, string[]]>([
  ['names nobody', { do: [human()] }, ['/do/0/review']],
  ['has an assignee', { do: [human({ assignee: 'ann' })] }, []],
  ['has candidates', { do: [human({ candidates: { roles: 'approver' } })] }, []],
  ['reaches others later', { do: [human({ escalate: [{ after: 'PT1H', to: { users: 'ann' } }] })] }, []],
  [
    'is called by its full name',
    { do: [{ review: { call: 'human:1.0.0@default', with: { title: 'Go?' } } }] },
    ['/do/0/review'],
  ],
  ['is in a list', { do: [{ outer: { do: [human()] } }] }, ['/do/0/outer/do/0/review']],
  [
    'is a branch',
    { do: [{ both: { fork: { branches: [human(), { other: { set: {} } }] } } }] },
    ['/do/0/both/fork/branches/0/review'],
  ],
  [
    'is in a catch',
    { do: [{ risky: { try: [], catch: { do: [human()] } } }] },
    ['/do/0/risky/catch/do/0/review'],
  ],
  [
    'is what a map does',
    { do: [{ all: { call: 'map', with: { in: [], do: [human()] } } }] },
    ['/do/0/all/with/do/0/review'],
  ],
  ['is a function', { use: { functions: { ask: human().review } }, do: [] }, ['/use/functions/ask']],
  ['is another function of this name', { use: { functions: { human: { set: {} } } }, do: [human()] }, []],
  ['is data', { do: [{ a: { set: { b: human().review } } }] }, []],
])('a human task is for the owner if it names nobody: one that %s', (_case, definition, pointers) => {
  expect(ownerTasks(definition)).toEqual(pointers);
});

test('what is no definition has none', () => {
  for (const value of [null, 'x', {}, { do: {} }, { do: [null, 1, {}] }, { use: { functions: [] } }])
    expect(ownerTasks(value)).toEqual([]);
});
