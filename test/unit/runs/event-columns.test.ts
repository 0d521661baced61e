import { expect, test } from '@jest/globals';

import { EVENT, type NewRunEvent } from '../../../contracts/run-events.ts';
import { columnsOf, eventRows } from '../../../domain/runs/event-columns.ts';

const event = (
  type: string,
  data: NewRunEvent['data'] = {},
  task: string | null = '/do/0/a',
): NewRunEvent => ({
  key: 'k',
  type,
  at: '2026-11-22T12:00:00.000Z',
  level: 'info',
  task,
  message: 'm',
  data,
});

test.each([
  [EVENT.taskStarted, { task_status: 'running', visit: 2, starts: true }],
  [EVENT.taskCompleted, { task_status: 'completed', visit: 2, ends: true }],
  [EVENT.taskFaulted, { task_status: 'faulted', visit: 2, ends: true }],
  [EVENT.taskCancelled, { task_status: 'cancelled', visit: 2, ends: true }],
  [EVENT.hitlCreated, { task_status: 'waiting', visit: 2, notice: 'created' }],
  [EVENT.childCreated, { task_status: 'running', visit: 2 }],
  [EVENT.agentPinned, { task_status: 'running', visit: 2 }],
  [EVENT.decisionReceived, { decision: 'received' }],
  [EVENT.decisionApplied, { decision: 'applied' }],
  [EVENT.runStarted, { begins: true }],
  [EVENT.taskRetried, {}],
  [EVENT.runCompleted, {}],
])('%s sets %j', (type, columns) => {
  expect(columnsOf(event(type, { visit: 2 }))).toEqual(columns);
});

test('an event changes no row of a task that it does not name, and still counts as a start', () => {
  expect(columnsOf(event(EVENT.taskStarted, {}))).toEqual({ starts: true });
  expect(columnsOf(event(EVENT.taskStarted, { visit: null }))).toEqual({ starts: true });
  expect(columnsOf(event(EVENT.taskStarted, { visit: 1 }, null))).toEqual({ starts: true });
});

test('a task that ends with usage, or with an agent, counts as used; nonsense counts as nothing', () => {
  const usage = { input_tokens: 3, cost_usd: 0.5, model: 'small' };
  const used = { model: 'small', input_tokens: 3, output_tokens: 0, cost_usd: 0.5 };
  expect(columnsOf(event(EVENT.taskCompleted, { usage }))).toEqual({ ends: true, used });
  expect(columnsOf(event(EVENT.taskFaulted, { usage }))).toEqual({ ends: true, used });
  expect(columnsOf(event(EVENT.taskStarted, { usage }))).toEqual({ starts: true });
  expect(columnsOf(event(EVENT.taskCompleted, { usage: null }))).toEqual({ ends: true });
  const nothing = { model: null, input_tokens: 0, output_tokens: 0, cost_usd: 0 };
  expect(columnsOf(event(EVENT.taskCompleted, { agent_id: 'a' }))).toEqual({ ends: true, used: nothing });
  const odd = { input_tokens: -5, output_tokens: '7', cost_usd: -1, model: 5 };
  expect(columnsOf(event(EVENT.taskCompleted, { usage: odd }))).toEqual({ ends: true, used: nothing });
  expect(columnsOf(event(EVENT.taskCompleted, { usage: { cost_usd: null } }))).toEqual({
    ends: true,
    used: { ...nothing, cost_usd: null },
  });
});

test('rows hold the event, its columns, and only what PostgreSQL can store', () => {
  const started = event(EVENT.taskStarted, { visit: 1, name: 'a\0b' });
  expect(JSON.parse(eventRows([started]))).toEqual([
    {
      ...started,
      data: { visit: 1, name: String.raw`a\u0000b` },
      task_status: 'running',
      visit: 1,
      starts: true,
    },
  ]);
});

test('an emitted event is for listeners with a time that PostgreSQL has, unless it is too long', () => {
  const emitted = { id: '1', source: 'urn:a', type: 'b' };
  const columns = (more: object) => columnsOf(event(EVENT.eventEmitted, { event: { ...emitted, ...more } }));
  expect(columns({ time: '2026-01-01T00:00:00+20:00' })).toEqual({
    emits: true,
    emitted_at: '2025-12-31T04:00:00Z',
  });
  expect(columns({ time: '0000-01-01T00:00:00Z' })).toEqual({ emits: true, emitted_at: null });
  expect([columns({ id: 'x'.repeat(2_500) }), columns({ type: 'x'.repeat(2_501) })]).toEqual([{}, {}]);
});
