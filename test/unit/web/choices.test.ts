/** What users choose for the console, within preferences that other clients share. */
import { expect, test } from '@jest/globals';

import {
  changed,
  choicesIn,
  makeDefault,
  MAX_VIEWS,
  removeView,
  renameView,
  saveView,
  type Change,
  type Content,
} from '../../../web/src/data/choices.ts';

const after = (...changes: Change[]): Content =>
  changes.reduce<Content>((content, change) => changed(content, change), {});
const viewsIn = (content: Content, list = 'runs') =>
  choicesIn(content).views[list]?.map(({ name, query, isDefault }) => `${name}|${query}|${isDefault}`);

test('views are saved, changed, renamed, removed, and one of them opens first', () => {
  const two = [saveView('runs', 'Late', 'status=waiting'), saveView('runs', 'Bad', 'status=faulted')];
  expect(viewsIn(after(...two))).toEqual(['Late|status=waiting|false', 'Bad|status=faulted|false']);
  const first = [...two, makeDefault('runs', 'Bad'), makeDefault('runs', 'Late')];
  expect(viewsIn(after(...first))).toEqual(['Late|status=waiting|true', 'Bad|status=faulted|false']);
  expect(viewsIn(after(...first, saveView('runs', 'Late', 'q=x')))).toEqual([
    'Late|q=x|true',
    'Bad|status=faulted|false',
  ]);
  expect(viewsIn(after(...first, renameView('runs', 'Late', 'Overdue'), makeDefault('runs', null)))).toEqual([
    'Overdue|status=waiting|false',
    'Bad|status=faulted|false',
  ]);
  expect(viewsIn(after(...two, removeView('runs', 'Late')))).toEqual(['Bad|status=faulted|false']);
});

test('a change that is repeated on what others have changed keeps their changes', () => {
  const theirs = after(saveView('runs', 'Theirs', 'q=1'), saveView('agents', 'Other list', 'q=2'));
  const mine = changed(theirs, saveView('runs', 'Mine', 'q=3'));
  expect(viewsIn(mine)).toEqual(['Theirs|q=1|false', 'Mine|q=3|false']);
  expect(viewsIn(mine, 'agents')).toEqual(['Other list|q=2|false']);
  // What somebody else has removed is not brought back by another name.
  expect(viewsIn(changed(mine, renameView('runs', 'Gone', 'Back')))).toEqual(viewsIn(mine));
  expect(viewsIn(changed(mine, renameView('runs', 'Mine', 'Theirs')))).toEqual(['Theirs|q=3|false']);
});

test('what other clients keep stays, and what makes no sense is ignored', () => {
  const content = {
    cli: { colour: false },
    console: { theme: 'pink', density: 7, views: { runs: [null, { name: 1 }, 'x'], agents: 7 } },
  };
  expect(choicesIn(content)).toEqual({
    theme: null,
    density: 'compact',
    decides: 'two_keys',
    views: { runs: [], agents: [] },
  });
  expect(changed(content, (choices) => ({ ...choices, theme: 'dark' }))).toEqual({
    cli: { colour: false },
    console: { theme: 'dark', density: 'compact', views: { runs: [], agents: [] } },
  });
  expect(choicesIn({ console: 'x' })).toEqual({
    theme: null,
    density: 'compact',
    decides: 'two_keys',
    views: {},
  });
});

test('what other clients keep with a saved view stays, whatever is changed', () => {
  const view = { name: 'Late', query: 'status=waiting', colour: 'red', columns: ['age'] };
  const content = { console: { views: { runs: [view] } } };
  const changes = [
    saveView('runs', 'New', 'q=1'),
    renameView('runs', 'Late', 'Overdue'),
    makeDefault('runs', 'New'),
  ];
  const [first, second] = (changes.reduce<Content>(changed, content)['console'] as any).views.runs;
  expect(first).toEqual({ ...view, name: 'Overdue' });
  expect(second).toEqual({ name: 'New', query: 'q=1', default: true });
});

test('a list has a bounded number of views', () => {
  const many = Array.from({ length: MAX_VIEWS + 1 }, (_, at) => saveView('runs', `View ${at}`, ''));
  expect(choicesIn(after(...many)).views['runs']).toHaveLength(MAX_VIEWS);
});
