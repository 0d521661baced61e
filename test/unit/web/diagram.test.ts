import { expect, test } from '@jest/globals';

import { drawingOf } from '../../../language/diagram/drawing.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import { foldRun } from '../../../web/src/screens/run/fold-run.ts';
import { lastVisit, taskStates } from '../../../web/src/screens/run/task-states.ts';
import { problemsByTask, tasksIn } from '../../../web/src/ui/diagram/tasks.ts';
import { logOf } from './log.ts';

const definition = {
  do: [{ loop: { for: { in: '.list' }, do: [{ ask: { call: 'agent', with: {} } }] } }, { done: { set: {} } }],
};

test('a problem belongs to the innermost task that has it, which shows the worst severity', () => {
  const tasks = tasksIn(drawingOf(definition));
  const found = problemsByTask(tasks, [
    { pointer: '/do/0/loop/do/0/ask/with/agent', message: 'no agent', severity: 'warning' },
    { pointer: '/do/0/loop/do/0/ask', message: 'too slow', severity: 'error' },
    { pointer: '/do/0/loop/for/each', message: 'no name', severity: 'warning' },
    { pointer: '/input', message: 'nobody’s', severity: 'error' },
    { pointer: '', message: 'nobody’s either', severity: 'error' },
  ]);
  expect([...found]).toEqual([
    ['/do/0/loop/do/0/ask', { message: 'no agent\ntoo slow', severity: 'error' }],
    ['/do/0/loop', { message: 'no name', severity: 'warning' }],
  ]);
});

test.each([
  [['unsupported', 'error'], 'error'],
  [['error', 'unsupported'], 'error'],
  [['warning', 'unsupported'], 'unsupported'],
  [['unsupported', 'warning'], 'unsupported'],
  [['warning', 'error', 'unsupported'], 'error'],
] as const)('of the problems %j the worst is %s', (severities, worst) => {
  const problems = severities.map((severity) => ({ pointer: '/do/1/done', message: severity, severity }));
  expect(problemsByTask(tasksIn(drawingOf(definition)), problems).get('/do/1/done')?.severity).toBe(worst);
});

test('a task shows its last visit, and how often the run came by or tried', () => {
  const [loop, ask, done] = ['/do/0/loop', '/do/0/loop/do/0/ask', '/do/1/done'];
  const start = (name: string, visit: number, attempt = 1) => ({ name, type: 'x', visit, attempt });
  const { steps } = foldRun(
    logOf(
      [0, EVENT.taskStarted, loop, start('loop', 1)],
      [1, EVENT.taskStarted, ask, start('ask', 1)],
      [2, EVENT.taskCompleted, ask, { visit: 1 }],
      [3, EVENT.taskStarted, ask, start('ask', 2)],
      [4, EVENT.taskFaulted, ask, { visit: 2 }],
      [5, EVENT.taskStarted, done, start('done', 1)],
      [6, EVENT.taskFaulted, done, { visit: 1 }],
      [7, EVENT.taskStarted, done, start('done', 2, 2)],
    ),
  );
  expect(Object.fromEntries(taskStates(steps))).toEqual({
    [loop]: { status: 'running' },
    [ask]: { status: 'faulted', note: '×2' },
    [done]: { status: 'running', note: 'try 2' },
  });
  expect(lastVisit(steps, ask)?.key).toBe(`${ask}#2`);
  expect(lastVisit(steps, '/do/9/none')).toBeUndefined();
});
