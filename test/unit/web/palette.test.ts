/** What a text finds in the palette, and how keys are named. */
import { expect, test } from '@jest/globals';

import { keyLines, keyName } from '../../../web/src/app/key-names.ts';
import { matching, type Entry } from '../../../web/src/app/palette-entries.ts';

const entry = (group: string, label: string, detail?: string): Entry => ({
  id: `${group} ${label}`,
  group,
  label,
  ...(detail === undefined ? {} : { detail }),
  act: () => undefined,
});
const entries = [
  entry('Do', 'Log out'),
  entry('Do', 'Light or dark'),
  entry('Go to', 'Files', 'Settings'),
  entry('Go to', 'Profile', 'Settings'),
  entry('Go to', 'Workflows'),
];
const found = (text: string) =>
  matching(entries, text).map(({ name, entries: own }) => [name, ...own.map(({ label }) => label)]);

test('a text finds entries by any part of their words, the best first, in their groups', () => {
  expect(found('')).toEqual([
    ['Do', 'Log out', 'Light or dark'],
    ['Go to', 'Files', 'Profile', 'Workflows'],
  ]);
  expect(found('lo')).toEqual([
    ['Do', 'Log out'],
    ['Go to', 'Workflows'],
  ]);
  expect(found('FILE')).toEqual([['Go to', 'Files', 'Profile']]);
  expect(found('file sett')).toEqual([['Go to', 'Files', 'Profile']]);
  expect(found(' dark  light ')).toEqual([['Do', 'Light or dark']]);
  expect(found('nothing')).toEqual([]);
});

test('a group shows a bounded number', () => {
  const many = Array.from({ length: 100 }, (_, at) => entry('Runs', `Run ${at}`));
  expect(matching(many, 'run')[0]?.entries).toHaveLength(8);
});

test('keys have the names that are on the keyboard, and second names share a line', () => {
  const names = ['mod+k', 'mod+Enter', 'ArrowLeft', 'Escape', 'g i', 'S'];
  expect(names.map((key) => keyName(key, false))).toEqual(['Ctrl K', 'Ctrl Enter', '←', 'Esc', 'g i', 'S']);
  expect(keyName('mod+k', true)).toBe('⌘ K');
  const lines = keyLines([
    { key: 'j', text: 'Next' },
    { key: 'k', text: 'Previous' },
    { key: ']', text: 'Next' },
  ]);
  expect(lines).toEqual([
    { text: 'Next', keys: ['j', ']'] },
    { text: 'Previous', keys: ['k'] },
  ]);
});
