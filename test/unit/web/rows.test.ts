import { expect, test } from '@jest/globals';

import { EVENT } from '../../../contracts/run-events.ts';
import { foldRun } from '../../../web/src/screens/run/fold-run.ts';
import { rowOf, rowsOf } from '../../../web/src/screens/run/rows.ts';
import { joined, type Bar } from '../../../web/src/screens/run/stretches.ts';
import { logOf } from './log.ts';

type Entry = Parameters<typeof logOf>[number];
const start = (ref: string, type: string, visit = 1, attempt = 1): Entry => [
  0,
  EVENT.taskStarted,
  ref,
  { name: ref.split('/').at(-1), type, visit, attempt },
];
const end = (ref: string, visit: number, type: string = EVENT.taskCompleted): Entry => [
  1,
  type,
  ref,
  { visit },
];
const shown = (rows: ReturnType<typeof rowsOf>) =>
  rows.map(({ step, depth, loop, covers }) => [step.key, depth, loop?.times ?? null, covers.length]);

const loop = '/do/0/each';
const [ask, tell] = [`${loop}/do/0/ask`, `${loop}/do/1/tell`];
const looping = foldRun(
  logOf(
    start(loop, 'for'),
    ...[1, 2, 3].flatMap((visit) => [
      start(ask, 'agent', visit),
      end(ask, visit, visit === 2 ? EVENT.taskFaulted : EVENT.taskCompleted),
      start(tell, 'set', visit),
      end(tell, visit),
    ]),
    start('/do/1/last', 'set'),
  ),
).steps;

test('a loop is one row with its rounds, until it is opened: then each round stays together', () => {
  const closed = rowsOf(looping, new Set());
  expect(shown(closed)).toEqual([
    [`${loop}#1`, 0, 3, 7],
    ['/do/1/last#1', 0, null, 1],
  ]);
  expect(closed[0]?.loop).toEqual({ isOpen: false, times: 3, going: 0, faulted: 1 });
  const opened = rowsOf(looping, new Set([`${loop}#1`]));
  expect(shown(opened)).toEqual([
    [`${loop}#1`, 0, 3, 1],
    ...[1, 2, 3].flatMap((visit) => [
      [`${ask}#${visit}`, 1, null, 1],
      [`${tell}#${visit}`, 1, null, 1],
    ]),
    ['/do/1/last#1', 0, null, 1],
  ]);
});

test('a map says how many of its items are under way', () => {
  const map = '/do/0/all';
  const item = (index: number): Entry => [
    0,
    EVENT.taskStarted,
    `${map}/with/do/0/ask`,
    { name: 'ask', type: 'agent', visit: index + 1, attempt: 1, items: [index] },
  ];
  const log = [start(map, 'map'), item(0), item(1), item(2), end(`${map}/with/do/0/ask`, 2)];
  const loopsOf = (...entries: Entry[]) =>
    rowsOf(foldRun(logOf(...entries)).steps, new Set()).map(({ loop: found }) => found);
  expect(loopsOf(...log)).toEqual([{ isOpen: false, times: 3, going: 2, faulted: 0 }]);
  expect(loopsOf(...log, end(map, 1))).toMatchObject([{ times: 3, going: 0 }]);
});

test('a task that the flow comes back to often is one row, and few visits are rows of their own', () => {
  const visits = (count: number) =>
    foldRun(logOf(...Array.from({ length: count }, (_, index) => start('/do/0/draft', 'agent', index + 1))))
      .steps;
  expect(shown(rowsOf(visits(3), new Set()))).toHaveLength(3);
  const [row, ...others] = rowsOf(visits(4), new Set());
  expect([row?.step.visit, row?.loop?.times, row?.covers.length, others]).toEqual([4, 4, 4, []]);
  expect(shown(rowsOf(visits(4), new Set([row?.key ?? ''])))).toEqual([
    ['/do/0/draft#4', 0, 4, 0],
    ...[1, 2, 3, 4].map((visit) => [`/do/0/draft#${visit}`, 1, null, 1]),
  ]);
});

test('retries are rows of their own, however many', () => {
  const steps = foldRun(
    logOf(
      ...Array.from({ length: 9 }, (_, index) => start('/do/0/t/try/0/call', 'http', index + 1, index + 1)),
    ),
  ).steps;
  expect(rowsOf(steps, new Set()).map(({ step, loop: opens }) => [step.attempt, opens])).toEqual(
    Array.from({ length: 9 }, (_, index) => [index + 1, null]),
  );
});

test('a step that a closed loop hides is found in the row of the loop', () => {
  const rows = rowsOf(looping, new Set());
  expect([
    rowOf(rows, `${ask}#2`),
    rowOf(rows, '/do/1/last#1'),
    rowOf(rows, 'none'),
    rowOf(rows, null),
  ]).toEqual([0, 1, -1, -1]);
});

test('the rows of 10,000 steps take linear time', () => {
  const steps = foldRun(
    logOf(
      start(loop, 'for'),
      ...Array.from({ length: 10_000 }, (_, index) => [
        start(ask, 'set', index + 1),
        end(ask, index + 1),
      ]).flat(),
    ),
  ).steps;
  const before = performance.now();
  expect(rowsOf(steps, new Set())).toHaveLength(1);
  expect(rowsOf(steps, new Set([`${loop}#1`]))).toHaveLength(10_001);
  // Some 30 ms; a quadratic walk would take 100 million steps.
  expect(performance.now() - before).toBeLessThan(5_000);
});

test('bars that touch are drawn as one, and those of other statuses beside them', () => {
  const bar = (from: number, to: number, more: Partial<Bar> = {}): Bar => ({
    startMs: from,
    endMs: to,
    waits: false,
    holds: false,
    ...more,
  });
  const axis = { x: (ms: number) => ms / 10 };
  const drawn = joined(
    [
      { status: 'completed', bars: [bar(0, 1000, { holds: true })] },
      ...Array.from({ length: 50 }, (_, index) => ({
        status: index === 7 ? 'faulted' : 'completed',
        bars: [bar(index * 10, index * 10 + 10)],
      })),
      { status: 'completed', bars: [bar(900, 1000)] },
    ],
    axis,
    3,
  );
  expect(drawn).toEqual([
    { x: 0, width: 100, status: 'completed', kind: 'holds' },
    { x: 0, width: 52, status: 'completed', kind: 'works' },
    { x: 7, width: 3, status: 'faulted', kind: 'works' },
    { x: 90, width: 10, status: 'completed', kind: 'works' },
  ]);
});

test('turns and tools of a language model stay in their order, and a long talk is closed', () => {
  const ask = '/do/0/ask';
  const turn = (visit: number): Entry[] => [
    start(`${ask}/model`, 'model', visit),
    start(`${ask}/tools/find`, 'tool', visit),
  ];
  const talk = (turns: number) =>
    foldRun(
      logOf(start(ask, 'agent'), ...Array.from({ length: turns }, (_, index) => turn(index + 1)).flat()),
    ).steps;
  expect(shown(rowsOf(talk(5), new Set())).map(([key]) => key)).toEqual([
    `${ask}#1`,
    ...[1, 2, 3, 4, 5].flatMap((visit) => [`${ask}/model#${visit}`, `${ask}/tools/find#${visit}`]),
  ]);
  expect(shown(rowsOf(talk(20), new Set()))).toEqual([[`${ask}#1`, 0, 20, 41]]);
});
