/**
 * CloudEvents of a run's log have the data that dsl-reference.md "Lifecycle Events" requires of their type.
 */
import { expect, test } from '@jest/globals';

import { EVENT } from '../../../contracts/run-events.ts';
import { cloudEventTypesOf, toCloudEvents } from '../../../domain/events/cloud-event.ts';
import type { LogEvent } from '../../../domain/events/log-reader.ts';

const baseUrl = 'https://cadenza.test';
const at = new Date('2026-01-02T03:04:05.678Z');
const runId = '0190d4c2-0000-7000-8000-000000000001';

function entry(type: string, more: Partial<LogEvent> = {}): LogEvent {
  return {
    position: { tx: '1', gpos: '1' },
    run_id: runId,
    seq: 7,
    type,
    at,
    level: 'info',
    task: null,
    message: 'it happened',
    data: {},
    run_owner_id: runId,
    run_team_id: null,
    run_is_open: true,
    workflow_id: null,
    workflow_name: 'order-pet',
    ...more,
  };
}

test('a CloudEvent of a run has the DSL members as data, and run and workflow as attributes', () => {
  const data = {
    name: 'order-pet-1.samples',
    definition: { name: 'order-pet', namespace: 'samples', version: '1.0.0' },
    startedAt: '2026-01-02T03:04:05.000Z',
    execution: 'e',
  };
  expect(toCloudEvents(entry(EVENT.runStarted, { data, workflow_id: 'w' }), baseUrl)).toEqual([
    {
      specversion: '1.0',
      id: `${runId}:7`,
      source: `${baseUrl}/runs/${runId}`,
      type: EVENT.runStarted,
      time: at.toISOString(),
      datacontenttype: 'application/json',
      runid: runId,
      workflowid: 'w',
      workflowname: 'order-pet',
      seq: 7,
      level: 'info',
      message: 'it happened',
      data,
    },
  ]);
});

test('the extension attributes have names that CloudEvents allows', () => {
  const [event = {}] = toCloudEvents(
    entry(EVENT.taskFaulted, { task: '/do/0/a', workflow_id: 'w' }),
    baseUrl,
  );
  for (const name of Object.keys(event)) expect(name).toMatch(/^[a-z0-9]{1,20}$/);
});

test('the start of a task gives two events: created, with its own id, and started', () => {
  const data = {
    workflow: 'w.samples',
    task: '/do/0/a',
    visit: 1,
    name: 'a',
    startedAt: '2026-01-02T03:04:05.000Z',
  };
  const log = entry(EVENT.taskStarted, { task: '/do/0/a', data });
  const { startedAt, ...rest } = data;
  expect(toCloudEvents(log, baseUrl)).toMatchObject([
    {
      id: `${runId}:7:1`,
      type: EVENT.taskCreated,
      subject: '/do/0/a',
      data: { ...rest, createdAt: startedAt },
    },
    { id: `${runId}:7`, type: EVENT.taskStarted, subject: '/do/0/a', data },
  ]);
  expect(toCloudEvents(log, baseUrl)[0]?.data).not.toHaveProperty('startedAt');
  expect(cloudEventTypesOf(log)).toEqual([EVENT.taskCreated, EVENT.taskStarted]);
});

test.each([
  [EVENT.runSuspended, EVENT.taskSuspended, 'suspendedAt'],
  [EVENT.runResumed, EVENT.taskResumed, 'resumedAt'],
])('%s gives an event for each open task', (type, ofTask, moment) => {
  const data = {
    name: 'r.samples',
    [moment]: at.toISOString(),
    by: 'u',
    tasks: [
      { task: '/do/0/a', visit: 1 },
      { task: '/do/0/a/do/0/b', visit: 2 },
    ],
  };
  expect(toCloudEvents(entry(type, { data }), baseUrl)).toMatchObject([
    { id: `${runId}:7`, type, data: { name: 'r.samples', [moment]: at.toISOString(), by: 'u' } },
    {
      id: `${runId}:7:1`,
      type: ofTask,
      subject: '/do/0/a',
      data: { workflow: 'r.samples', task: '/do/0/a', [moment]: at.toISOString() },
    },
    {
      id: `${runId}:7:2`,
      type: ofTask,
      subject: '/do/0/a/do/0/b',
      data: { workflow: 'r.samples', task: '/do/0/a/do/0/b', visit: 2 },
    },
  ]);
  expect(toCloudEvents(entry(type, { data }), baseUrl)[0]?.data).not.toHaveProperty('tasks');
});

test('events that the platform writes without a workflow have the required members', () => {
  const error = { type: 'https://example.com/broken', status: 500 };
  const required: [string, Partial<LogEvent>, Record<string, unknown>][] = [
    [EVENT.runCancelled, {}, { name: expect.stringContaining(runId), cancelledAt: at.toISOString() }],
    [
      EVENT.runFaulted,
      { data: { error } },
      { name: expect.stringContaining(runId), faultedAt: at.toISOString(), error },
    ],
    [
      EVENT.taskCompleted,
      { task: '/do/0/a' },
      { workflow: expect.stringContaining(runId), task: '/do/0/a', completedAt: at.toISOString() },
    ],
  ];
  for (const [type, more, data] of required)
    expect(toCloudEvents(entry(type, more), baseUrl)).toMatchObject([{ type, data }]);
});

test('a platform event has the data of its log entry; an emitted one is passed on unchanged', () => {
  expect(toCloudEvents(entry(EVENT.hitlCreated, { data: { hitl_task_id: 't' } }), baseUrl)).toMatchObject([
    { data: { hitl_task_id: 't' } },
  ]);
  const event = { specversion: '1.0', id: 'x', source: '/s', type: 'com.example.greeted', data: { data: 1 } };
  expect(toCloudEvents(entry(EVENT.eventEmitted, { data: { event } }), baseUrl)).toEqual([event]);
});
