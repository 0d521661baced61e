/** Names of tasks in `context` of `call: human`. */
import { expect, test } from '@jest/globals';

import { Steps } from '../../../../language/definition/steps.ts';

const set = { set: { a: 1 } };
const definition = {
  use: { functions: { audit: { do: [{ note: set }, { inner: set }] } } },
  do: [
    { check: set },
    { both: { fork: { branches: [{ left: { do: [{ check: set }, { deep: set }] } }, { right: set }] } } },
    { guarded: { try: [{ ask: set }], catch: { do: [{ ask: set }, { mend: set }] } } },
    { 'a/b': set },
    { review: set },
  ],
};
const steps = new Steps(definition);
const deep = '/do/1/both/fork/branches/0/left/do/1/deep';

test.each([
  ['a task of the same list', 'check', '/do/4/review', '/do/0/check'],
  ['the nearest of several', 'check', deep, '/do/1/both/fork/branches/0/left/do/0/check'],
  ['a task of a list around', 'guarded', deep, '/do/2/guarded'],
  ['a branch beside', 'right', deep, '/do/1/both/fork/branches/1/right'],
  ['the only one of its name, wherever it is', 'mend', '/do/4/review', '/do/2/guarded/catch/do/1/mend'],
  ['a task of a function', 'inner', '/do/4/review', '/use/functions/audit/do/1/inner'],
  ['a name with a slash', 'a/b', '/do/4/review', '/do/3/a~1b'],
  ['a pointer', '/do/2/guarded/try/0/ask', '/do/4/review', '/do/2/guarded/try/0/ask'],
])('a name means %s', (_case, name, from, pointer) => {
  expect(steps.find(name, from)).toMatchObject({ found: { pointer } });
});

test('a name that is there several times, and none of them around, does not tell which', () => {
  expect(steps.find('ask', '/do/4/review')).toMatchObject({
    several: [{ pointer: '/do/2/guarded/try/0/ask' }, { pointer: '/do/2/guarded/catch/do/0/ask' }],
  });
  expect(steps.find('nobody', '/do/4/review')).toBeNull();
  expect(steps.find('/do/9/check', '/do/4/review')).toBeNull();
});

test('nothing is found in what is not a definition', () => {
  for (const wrong of [null, 1, { do: 1 }, { do: [null, 1, {}, { a: null }, { b: { fork: 1 } }] }])
    expect(new Steps(wrong).find('check', '/do/0/check')).toBeNull();
});
