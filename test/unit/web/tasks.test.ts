/** The list of the inbox, and a decision before it is sent. */
import { beforeAll, expect, test } from '@jest/globals';

import { prepareDecision } from '../../../web/src/screens/inbox/prepare.ts';
import {
  decisionKey,
  decisionLabel,
  filterOf,
  neighbourOf,
  sharedDecisions,
  showsTask,
  taskOrder,
  type Task,
} from '../../../web/src/screens/inbox/tasks.ts';
import { firstEntries, type Entries, type GroupEntry } from '../../../web/src/ui/schema-form/fields.ts';
import { loadCheck } from '../../../web/src/ui/schema-form/form-check.ts';

beforeAll(loadCheck);

const task = (given: Partial<Task>): Task =>
  // Only the fields that the tested functions read.
  ({ id: 'a', status: 'open', priority: 50, due_at: null, can: ['decide'], ...given }) as Task;

test('the list shows what its filter asks the server for', () => {
  const mine = filterOf({});
  const all = filterOf({ scope: 'all', overdue: 'true' });
  const now = { userId: 'me', nowMs: Date.parse('2026-01-01T00:00:00Z') };
  const late = task({ due_at: '2025-12-31T00:00:00Z', can: [] });
  expect([showsTask(mine, task({}), now), showsTask(mine, task({ can: ['comment'] }), now)]).toEqual([
    true,
    false,
  ]);
  expect(showsTask(mine, task({ status: 'decided' }), now)).toBe(false);
  expect([showsTask(all, late, now), showsTask(all, task({}), now)]).toEqual([true, false]);
  const claimed = filterOf({ claimed: 'me' });
  expect(['me', 'other', null].map((claimed_by) => showsTask(claimed, task({ claimed_by }), now))).toEqual([
    true,
    false,
    false,
  ]);
  const ofTeam = filterOf({ team: 't' });
  expect(['t', 'other', null].map((team_id) => showsTask(ofTeam, task({ team_id }), now))).toEqual([
    true,
    false,
    false,
  ]);
  // What nobody offers in an address is ignored.
  expect(filterOf({ sort: 'size', scope: 'none', claimed: 'x' })).toEqual(filterOf({}));
});

test.each<[Parameters<typeof taskOrder>[0], string[]]>([
  ['priority', ['c', 'a', 'b', 'd']],
  ['due', ['d', 'b', 'a', 'c']],
  ['created', ['a', 'b', 'c', 'd']],
])('tasks are in the order of the server: by %s, then age', (sort, order) => {
  const tasks = [
    task({ id: 'd', due_at: '2026-01-01T00:00:00.000Z' }),
    task({ id: 'b', due_at: '2026-01-02T00:00:00.000Z' }),
    task({ id: 'c', priority: 90 }),
    task({ id: 'a' }),
  ];
  expect(tasks.toSorted(taskOrder(sort)).map(({ id }) => id)).toEqual(order);
});

test('a decision has the words of its task, and a key', () => {
  const decisions = [{ id: 'more', label: 'ask for more', requires_comment: true }];
  expect(['more', 'gone'].map((id) => decisionLabel(task({ decisions }), id))).toEqual([
    'Ask for more',
    'Gone',
  ]);
  expect([decisionKey('approve', 3), decisionKey('more', 8), decisionKey('more', 9)]).toEqual([
    'a',
    '9',
    null,
  ]);
});

test('after a decision the next task is chosen, at the end the one before', () => {
  const tasks = [{ id: 'a' }, { id: 'b' }, { id: 'c' }];
  expect([neighbourOf(tasks, 'a'), neighbourOf(tasks, 'c'), neighbourOf(tasks.slice(0, 1), 'a')]).toEqual([
    'b',
    'b',
    null,
  ]);
});

test('several tasks are decided at once by what all of them offer without more', () => {
  const option = (id: string, needsComment = false) => ({ id, label: id, requires_comment: needsComment });
  expect(
    sharedDecisions([
      task({ decisions: [option('approve'), option('reject'), option('more')] }),
      task({ decisions: [option('approve'), option('reject', true)] }),
    ]).map(({ id }) => id),
  ).toEqual(['approve']);
});

const form_schema = {
  type: 'object',
  required: ['amount'],
  properties: { amount: { type: 'number', title: 'Amount' }, list: { type: 'array' } },
};
const decisions = [
  { id: 'approve', requires_comment: false },
  { id: 'reject', requires_comment: true },
];

test('a form is checked in the words of the server', () => {
  const entries = { amount: '', list: '{}' };
  expect(prepareDecision({ form_schema, decisions }, 'approve', { entries, comment: ' ' })).toEqual({
    body: { decision: 'approve', payload: { list: {} } },
    problems: [
      { pointer: '/payload/amount', message: 'Amount is missing' },
      { pointer: '/payload/list', message: 'List must be a list' },
    ],
  });
});

test('the arguments of a tool call are sent as the model wrote them, but for what was changed', () => {
  const given = { to: 'ada', note: '', tags: [' a '] };
  const form = {
    type: 'object',
    properties: {
      arguments: {
        type: 'object',
        required: ['to'],
        properties: {
          to: { type: 'string' },
          note: { type: 'string' },
          urgent: { type: 'boolean' },
          tags: { type: 'array', items: { type: 'string' } },
        },
        default: given,
      },
    },
    additionalProperties: false,
  };
  const first = firstEntries(form);
  const decide = (entries: Entries) =>
    prepareDecision({ form_schema: form, decisions }, 'approve', { entries, comment: '' });
  expect(decide(first)).toEqual({
    body: { decision: 'approve', payload: { arguments: given } },
    problems: [],
  });
  const group = first['arguments'] as GroupEntry;
  const change = (part: Entries): Entries => ({
    arguments: { ...group, entries: { ...group.entries, ...part } },
  });
  expect(decide(change({ to: 'bob' })).body.payload).toEqual({ arguments: { ...given, to: 'bob' } });
  expect(decide(change({ to: '' })).problems).toEqual([
    { pointer: '/payload/arguments/to', message: 'To in Arguments is missing' },
  ]);
});

test('a text that is no number is named once', () => {
  const { problems } = prepareDecision({ form_schema, decisions }, 'approve', {
    entries: { amount: 'much' },
    comment: '',
  });
  expect(problems).toEqual([{ pointer: '/payload/amount', message: 'must be a number' }]);
});

test('a rejection needs no form, but the comment that its option asks for', () => {
  const entered = { entries: {}, comment: '' };
  expect(prepareDecision({ form_schema, decisions }, 'reject', entered)).toEqual({
    body: { decision: 'reject' },
    problems: [{ pointer: '/comment', message: 'Comment is missing.' }],
  });
  expect(prepareDecision({ decisions }, 'reject', { ...entered, comment: ' no ' })).toEqual({
    body: { decision: 'reject', comment: 'no' },
    problems: [],
  });
});
