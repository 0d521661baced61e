import { expect, test } from '@jest/globals';
import type { PartialOutput } from '../../../client/index.ts';
import { withPartials, type LiveOutputs } from '../../../web/src/screens/run/live-output.ts';

const piece = (offset: number | null, text: string, more: Partial<PartialOutput> = {}): PartialOutput => ({
  type: offset === null ? 'io.cadenza.task.progress.v1' : 'io.cadenza.task.output.v1',
  task: '/do/0/ask',
  visit: 1,
  attempt: 1,
  offset,
  text,
  ...more,
});
const after = (...pieces: PartialOutput[]) => withPartials(new Map(), pieces).get('/do/0/ask#1');

test('pieces continue the text of their step, beside what the agent says', () => {
  expect(after(piece(0, 'Once '), piece(null, 'thinking'), piece(5, 'upon'))).toEqual({
    attempt: 1,
    text: 'Once upon',
    isCut: false,
    end: 9,
    progress: 'thinking',
  });
});

test('a gap is marked, and a new beginning replaces the text', () => {
  const gap = after(piece(0, 'Once '), piece(20, 'a time'), piece(26, '.'));
  expect(gap).toMatchObject({ text: 'a time.', isCut: true, end: 27 });
  expect(after(piece(30, 'late'))).toMatchObject({ text: 'late', isCut: true });
  expect(after(piece(0, 'Once '), piece(0, 'Again'))).toMatchObject({ text: 'Again', isCut: false });
  expect(after(piece(0, 'Once '), piece(0, 'New', { attempt: 2 }))).toMatchObject({
    attempt: 2,
    text: 'New',
  });
});

test('only the end of a long text and the latest steps are kept', () => {
  const long = after(piece(0, 'x'.repeat(30_000)), piece(30_000, 'end'));
  expect(long).toMatchObject({ isCut: true, end: 30_003 });
  expect(long?.text).toHaveLength(19_000);
  let all: LiveOutputs = new Map();
  for (let visit = 1; visit <= 150; visit++) all = withPartials(all, [piece(0, 'x', { visit })]);
  expect([all.size, [...all.keys()].at(-1)]).toEqual([100, '/do/0/ask#150']);
});
