/** The inbox picker: what each key does, and what is drawn. */
import { expect, test } from '@jest/globals';

import { firstState, pickerLines, press, without, type PickerState } from '../../../cli/core/picker.ts';
import { painter } from '../../../cli/core/text.ts';
import { treeLines } from '../../../cli/core/runs.ts';

const paint = painter(false);
const rows = ['one', 'two', 'three'].map((id) => ({
  id,
  text: `Task ${id}`,
  detail: 'refunds',
  decisions: id === 'three' ? ['yes', 'no'] : ['approve', 'reject'],
}));
const after = (keys: string, state: PickerState = firstState(rows)): PickerState =>
  [...keys].reduce((now, key) => press(now, key).state, state);

test('j and k move within the list, g and G to its ends', () => {
  expect([after('j').at, after('jjjj').at, after('jjk').at, after('kk').at]).toEqual([1, 2, 1, 0]);
  expect([after('G').at, after('Gg').at]).toEqual([2, 0]);
});

test('a letter prepares a decision, Enter sends it, Escape and moving take it back', () => {
  expect(press(firstState(rows), '\r').effect).toEqual({ kind: 'show', row: rows[0] });
  expect(press(after('ja'), '\r').effect).toEqual({ kind: 'decide', row: rows[1], decision: 'approve' });
  expect(press(after('r'), '\r').effect).toEqual({ kind: 'decide', row: rows[0], decision: 'reject' });
  expect(after('a\u001b').prepared).toBeNull();
  expect(after('aj').prepared).toBeNull();
  expect(press(firstState(rows), '\u001b').effect).toEqual({ kind: 'quit' });
});

test('a decision that the task does not offer is not prepared', () => {
  const state = after('Ga');
  expect(state.prepared).toBeNull();
  expect(state.note).toContain('1 yes, 2 no');
  expect(press(state, '2').state.prepared).toBe('no');
  expect(press(state, '3').state.prepared).toBeNull();
});

test('a decided task leaves, and the next takes its place', () => {
  const state = without(after('j'), 'two', 'done');
  expect([state.rows.map(({ id }) => id), state.at]).toEqual([['one', 'three'], 1]);
  expect(without(without(state, 'one', ''), 'three', '').at).toBe(0);
  expect(press(without(without(state, 'one', ''), 'three', ''), '\r').effect).toBeUndefined();
});

test('the picture fits the terminal, whatever the titles contain', () => {
  const hostile = `${'x'.repeat(200)}${String.fromCharCode(27)}[2J\nsecond line`;
  const many = Array.from({ length: 100 }, (_, n) => ({
    ...rows[0]!,
    id: String(n),
    text: `${n} ${hostile}`,
  }));
  const lines = pickerLines({ ...firstState(many), at: 60 }, 40, 10, paint);
  expect(lines.length).toBeLessThanOrEqual(10);
  expect(lines.filter((line) => [...line].length > 40 || /\p{Cc}/u.test(line))).toEqual([]);
  expect(lines.join('\n')).toContain('› 60');
});

test('tasks are drawn as a tree, with repeated visits as one', () => {
  const task = (reference: string, visit = 1) => ({
    reference,
    name: reference.split('/').at(-1) ?? '',
    type: 'set',
    status: 'completed' as const,
    visit,
    attempt: 1,
    started_at: '2026-05-01T12:00:00Z',
    finished_at: '2026-05-01T12:00:02Z',
  });
  const tasks = [
    task('/do/0/loop'),
    task('/do/0/loop/do/0/add'),
    task('/do/0/loop/do/0/add', 2),
    task('/do/1/end'),
  ];
  expect(treeLines(tasks, paint)).toEqual([
    '├─ loop  set  completed  2.0s',
    '│  └─ add  set  completed  2.0s  ×2',
    '└─ end  set  completed  2.0s',
  ]);
});
