import { expect, test } from '@jest/globals';

import { EVENT } from '../../../contracts/run-events.ts';
import { curlOf } from '../../../web/src/screens/run/curl.ts';
import { foldRun } from '../../../web/src/screens/run/fold-run.ts';
import { entriesOf, matching, plainText } from '../../../web/src/screens/run/log-lines.ts';
import { logOf } from './log.ts';

const [loop, ask] = ['/do/0/each', '/do/0/each/do/0/ask'];
const start = (name: string, visit: number) => ({ name, type: 'for', visit, attempt: 1 });
const events = logOf(
  [0, EVENT.runStarted, null],
  [1, EVENT.taskStarted, loop, { ...start('each', 1), input: { list: [1] } }],
  [2, EVENT.taskStarted, ask, { ...start('ask', 1), input_omitted: true }],
  [3, EVENT.taskCompleted, ask, { visit: 1, output_omitted: true, usage: { input_tokens: 12 } }],
  [4, EVENT.taskStarted, ask, start('ask', 2)],
).map(
  (entry) => ({ ...entry, message: `entry ${entry.seq}`, level: entry.seq === 4 ? 'warn' : 'info' }) as const,
);
const { steps } = foldRun(events);
const seqs = (filter: Partial<Parameters<typeof matching>[2]>) =>
  matching(events, steps, { level: 'debug', text: '', step: undefined, ...filter }).map(({ seq }) => seq);

test('the log is searched, filtered by level, and by a step with all inside it', () => {
  expect(seqs({})).toEqual([1, 2, 3, 4, 5]);
  expect(seqs({ level: 'warn' })).toEqual([4]);
  expect(seqs({ text: ' ENTRY 2 ' })).toEqual([2]);
  expect(seqs({ text: 'do/0/ask' })).toEqual([3, 4, 5]);
  expect(seqs({ step: steps[0] })).toEqual([2, 3, 4, 5]);
  expect(seqs({ step: steps[1] })).toEqual([3, 4]);
  expect(seqs({ step: steps[1], level: 'error' })).toEqual([]);
  expect(entriesOf(events, steps[0]!).map(({ seq }) => seq)).toEqual([2]);
});

test('plain text has a line for each entry', () => {
  expect(plainText(events.slice(0, 2))).toBe(
    `1\t${events[0]?.at}\tinfo\t-\tentry 1\n2\t${events[1]?.at}\tinfo\t/do/0/each\tentry 2`,
  );
});

test('a step knows its input and output, or that the log does not hold them', () => {
  expect(steps.map(({ key, input, omitted, usage }) => [key, input, omitted, usage])).toEqual([
    [`${loop}#1`, { list: [1] }, [], null],
    [`${ask}#1`, undefined, ['input', 'output'], { input_tokens: 12 }],
    [`${ask}#2`, undefined, [], null],
  ]);
});

test('a step copied as curl is one argument, whatever its name', () => {
  const step = { ...steps[0]!, reference: `/do/0/o'neil; rm -rf $HOME` };
  expect(curlOf('https://cadenza.test', 'r-1', step)).toBe(
    `curl -H "Authorization: Bearer $TOKEN" ` +
      `'https://cadenza.test/runs/r-1/tasks/%2Fdo%2F0%2Fo%27neil%3B%20rm%20-rf%20%24HOME?visit=1'`,
  );
});
