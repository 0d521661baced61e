import { describe, expect, test } from '@jest/globals';

import { EVENT } from '../../../contracts/run-events.ts';
import { foldRun } from '../../../web/src/screens/run/fold-run.ts';
import { logOf as log } from './log.ts';

const started = (name: string, type: string, visit = 1, attempt = 1) => ({ name, type, visit, attempt });

test('steps stand below the step that holds them, in the order of their start', () => {
  const { steps } = foldRun(
    log(
      [0, EVENT.runStarted, null],
      [0, EVENT.taskStarted, '/do/0/gather', started('gather', 'fork')],
      [1, EVENT.taskStarted, '/do/0/gather/fork/branches/0/a', started('a', 'agent')],
      [1, EVENT.taskStarted, '/do/0/gather/fork/branches/1/b', started('b', 'do')],
      [2, EVENT.taskStarted, '/do/0/gather/fork/branches/1/b/do/0/c', started('c', 'set')],
      [3, EVENT.taskStarted, '/do/1/last', started('last', 'set')],
    ),
  );
  expect(steps.map(({ name, depth }) => [name, depth])).toEqual([
    ['gather', 0],
    ['a', 1],
    ['b', 1],
    ['c', 2],
    ['last', 0],
  ]);
});

test('each visit is a step, inside the visit that was under way', () => {
  const loop = '/do/0/each';
  const inner = `${loop}/do/0/ask`;
  const { steps } = foldRun(
    log(
      [0, EVENT.taskStarted, loop, started('each', 'for')],
      [1, EVENT.taskStarted, inner, started('ask', 'agent')],
      [2, EVENT.taskFaulted, inner, { visit: 1, error: { type: 'x', status: 500 } }],
      [3, EVENT.taskStarted, inner, started('ask', 'agent', 2, 2)],
      [5, EVENT.taskCompleted, inner, { visit: 2, output: { found: 3 } }],
    ),
  );
  expect(
    steps.map(({ key, status, attempt, output, error }) => [key, status, attempt, output, error]),
  ).toEqual([
    [`${loop}#1`, 'running', 1, undefined, null],
    [`${inner}#1`, 'faulted', 1, undefined, { type: 'x', status: 500 }],
    [`${inner}#2`, 'completed', 2, { found: 3 }, null],
  ]);
});

test('a step of a map stands inside its own item, which ran beside the others', () => {
  const map = '/do/0/each';
  const group = `${map}/with/do/0/group`;
  const inner = `${group}/do/0/ask`;
  const at = (name: string, type: string, visit: number, item: number) => ({
    ...started(name, type, visit),
    items: [item],
  });
  const { steps } = foldRun(
    log(
      [0, EVENT.taskStarted, map, started('each', 'map')],
      [1, EVENT.taskStarted, group, at('group', 'do', 1, 0)],
      [1, EVENT.taskStarted, group, at('group', 'do', 2, 1)],
      [2, EVENT.taskStarted, inner, at('ask', 'agent', 1, 0)],
      [2, EVENT.taskStarted, inner, at('ask', 'agent', 2, 1)],
    ),
  );
  expect(steps.map(({ key, parent, items }) => [key, parent, items])).toEqual([
    [`${map}#1`, null, []],
    [`${group}#1`, `${map}#1`, [0]],
    [`${inner}#1`, `${group}#1`, [0]],
    [`${group}#2`, `${map}#1`, [1]],
    [`${inner}#2`, `${group}#2`, [1]],
  ]);
});

test('a human step waits from when somebody was asked', () => {
  const { steps } = foldRun(
    log(
      [0, EVENT.taskStarted, '/do/0/review', started('review', 'human')],
      [40, EVENT.hitlCreated, '/do/0/review', { visit: 1, hitl_task_id: 't-1' }],
    ),
  );
  expect(steps).toMatchObject([{ status: 'waiting', humanTaskId: 't-1', endMs: null }]);
  expect((steps[0]?.askedMs ?? 0) - (steps[0]?.startMs ?? 0)).toBe(40);
});

describe('the end of a run ends its open steps', () => {
  test.each([
    [EVENT.runCancelled, 'cancelled', 'cancelled'],
    [EVENT.runFaulted, 'faulted', 'faulted'],
  ])('%s', (type, runStatus, stepStatus) => {
    const fold = foldRun(
      log(
        [0, EVENT.runStarted, null],
        [1, EVENT.taskStarted, '/do/0/a', started('a', 'agent')],
        [9, type, null],
      ),
    );
    expect([fold.status, fold.steps.map(({ status }) => status)]).toEqual([runStatus, [stepStatus]]);
    expect((fold.endMs ?? 0) - (fold.startMs ?? 0)).toBe(9);
  });
});

test('events without a step, and those of other types, change nothing', () => {
  const events = log(
    [0, EVENT.agentWarning, '/do/0/a', { visit: 1 }],
    [0, 'io.example.unknown.v1', '/do/0/a', {}],
  );
  expect(foldRun(events)).toEqual({ steps: [], startMs: null, endMs: null, status: null });
});
