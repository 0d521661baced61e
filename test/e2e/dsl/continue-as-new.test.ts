/** Runs that continue in a new execution every few events of history, without visible effect. */
import type { Client as TemporalClient } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runWorkflowId } from '../../../contracts/temporal.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import type { Client } from '../../support/app.ts';
import { sendJson, startServer } from '../../support/http-server.ts';
import {
  runToEnd,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../../support/platform.ts';
import { createTestDatabase, smallTemporal } from '../../support/servers.ts';
import { definitionOf } from './model/definition.ts';
import { meaningOf } from './model/meaning.ts';
import { randomPlan } from './model/plan.ts';
import { httpTask, humanTask } from '../../support/definitions.ts';

let platform: TestPlatform;
let client: Client;
let temporal: TemporalClient;
beforeAll(async () => {
  const [database, server] = await Promise.all([createTestDatabase(), smallTemporal()]);
  temporal = createTemporalClient(server);
  platform = await startTestPlatform({ servers: { database, temporal: server } });
  client = await platform.as('builder');
});
afterAll(async () => {
  await platform.close();
  await temporal.connection.close();
});

const read = async (id: string): Promise<RunRecord> => (await client.get(`/runs/${id}`)).body;
const ends = (id: string, timeoutMs = 240_000): Promise<RunRecord> =>
  until(
    () => read(id),
    ({ status }) => ['completed', 'faulted', 'cancelled'].includes(status),
    timeoutMs,
  );
const decide = async (taskId: string, decision = 'approve'): Promise<number> =>
  (await client.post(`/hitl/tasks/${taskId}/decision`, { decision })).status;
const tasksOf = async (runId: string): Promise<RunRecord[]> =>
  (await client.get(`/hitl/tasks?run_id=${runId}`)).body;
const gapless = ({ logs }: RunRecord): void =>
  expect(logs.map(({ seq }: RunRecord) => seq)).toEqual(logs.map((_: unknown, i: number) => logs[0].seq + i));
const once = ({ tasks }: RunRecord): void =>
  expect(new Set(tasks.map((task: RunRecord) => `${task['reference']}#${task['visit']}`)).size).toBe(
    tasks.length,
  );

/** The Temporal run id of the current execution. */
async function execution(runId: string): Promise<string> {
  return (await temporal.workflow.getHandle(runWorkflowId(runId)).describe()).runId;
}

/** When the current execution began. */
async function executionBegan(runId: string): Promise<number> {
  return (await temporal.workflow.getHandle(runWorkflowId(runId)).describe()).startTime.getTime();
}

/** More than the 10 s after which Temporal gives a lost workflow task to the next poll. */
const UNDER_WAY_MS = 13_000;

/** Shakes the run when a task has been under way for a while. @returns when its next execution began. */
async function shakeUnderWay(runId: string, task: string): Promise<number> {
  await until(
    () => read(runId),
    ({ waiting_on }) => waiting_on[0]?.task.endsWith(task),
  );
  await sleep(UNDER_WAY_MS);
  await shake(runId);
  return executionBegan(runId);
}

/** Suspends and resumes until the run has continued in another execution. */
async function shake(runId: string): Promise<void> {
  const before = await execution(runId);
  for (let i = 0; (await execution(runId)) === before; i++) {
    if (i > 40) throw new Error('the run stays in its execution');
    for (const kind of ['suspend', 'resume']) {
      await client.post(`/runs/${runId}/${kind}`);
      await until(
        () => read(runId),
        ({ status }) => (status === 'suspended') === (kind === 'suspend'),
      );
    }
  }
}

test('the model and the platform agree on every plan, at any continue-as-new', async () => {
  const pending = Array.from({ length: Number(process.env['NESTING_RUNS'] ?? 40) }, (_, i) => i + 1);
  const differing: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let seed = pending.pop(); seed !== undefined; seed = pending.pop()) {
      const plan = randomPlan(seed, { waits: 0.3 });
      const input = { n: seed % 97, path: [] };
      const run = await runToEnd(client, definitionOf(plan), input);
      const actual =
        run['status'] === 'completed'
          ? run['output']
          : { status: run['error'].status, instance: run['error'].instance };
      const expected = meaningOf(plan, input);
      try {
        expect(actual).toEqual(expected);
        gapless(run);
      } catch (error) {
        differing.push({ seed, error: String(error), definition: JSON.stringify(definitionOf(plan)) });
      }
    }
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  expect(differing.slice(0, 3)).toEqual([]);
});

test('a loop of thousands of iterations computes its sum', async () => {
  const before = {
    do: [
      { loop: { for: { in: '[range(3000)]' }, do: [{ add: { set: '${ {sum: ((.sum // 0) + $item)} }' } }] } },
    ],
  };
  const { id } = await startRun(client, before);
  const first = await execution(id).catch(() => '');
  const run = await ends(id);
  expect(run['output']).toEqual({ sum: 4_498_500 });
  gapless(run);
  expect(run['logs'].at(-1).seq).toBe(3_000 * 2 + 5);
  expect(await execution(id)).not.toBe(first);
});

test('a loop that calls a service calls it once for each iteration', async () => {
  const service = await startServer((request, response) =>
    sendJson(response, { n: JSON.parse(request.body).n }),
  );
  try {
    const call = {
      ...httpTask(service.url, { method: 'post', body: { n: '${ $item }' } }),
      output: { as: '$input + {sum: (($input.sum // 0) + .n)}' },
    };
    const run = await runToEnd(client, {
      do: [{ loop: { for: { in: '[range(40)]' }, do: [{ ask: call }] } }],
    });
    expect(run['output']).toEqual({ sum: 780 });
    expect(service.seen.map(({ body }) => JSON.parse(body).n)).toEqual(
      Array.from({ length: 40 }, (_, i) => i),
    );
    expect(new Set(service.seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(40);
    once(run);
  } finally {
    await service.close();
  }
});

// At once: most of them wait for timers.
describe('continue-as-new', () => {
  test.concurrent('keeps an open human task, whose decision is applied once', async () => {
    const { id } = await startRun(client, {
      do: [
        {
          ask: {
            call: 'human',
            with: { title: 'Well?', remind: ['PT1S'], expires: 'PT5M' },
            output: { as: '.decision' },
            export: { as: '{asked: .}' },
          },
        },
        { told: { set: { said: '${ . }', context: '${ $context }' } } },
      ],
    });
    const [task, ...others] = await until(
      () => tasksOf(id),
      ({ length }) => length > 0,
    );
    expect(others).toEqual([]);
    await shake(id);
    expect(await tasksOf(id)).toMatchObject([
      { id: task?.['id'], status: 'open', expires_at: task?.['expires_at'] },
    ]);
    expect(await read(id)).toMatchObject({
      status: 'waiting',
      waiting_on: [{ kind: 'human', id: task?.['id'] }],
    });
    await shake(id);
    await until(
      () => read(id),
      ({ logs }) => logs.some(({ type }: RunRecord) => type.includes('task-reminder')),
    );
    expect(await decide(task?.['id'])).toBe(200);
    const run = await ends(id);
    expect(run).toMatchObject({
      status: 'completed',
      output: { said: 'approve', context: { asked: 'approve' } },
    });
    const kinds = (word: string): number =>
      run['logs'].filter(({ type }: RunRecord) => type.includes(word)).length;
    expect([
      kinds('task-created'),
      kinds('decision-received'),
      kinds('decision-applied'),
      kinds('task-reminder'),
    ]).toEqual([1, 1, 1, 1]);
    gapless(run);
    once(run);
  });

  test.concurrent('keeps a suspension, and applies its pending decision on resume', async () => {
    const { id } = await startRun(client, {
      do: [{ ask: { call: 'human', with: { title: 'Well?' }, output: { as: '.decision' } } }],
    });
    const [task] = await until(
      () => tasksOf(id),
      ({ length }) => length > 0,
    );
    await shake(id);
    await client.post(`/runs/${id}/suspend`);
    await until(
      () => read(id),
      ({ status }) => status === 'suspended',
    );
    expect(await decide(task?.['id'], 'reject')).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await read(id))['status']).toBe('suspended');
    await client.post(`/runs/${id}/resume`);
    expect(await ends(id)).toMatchObject({ status: 'completed', output: 'reject' });
  });

  test.concurrent('keeps the deadlines of a wait and of the timeout around it', async () => {
    const [waits, limit] = [60, 58];
    const paused = startRun(client, {
      do: [{ list: { do: [{ pause: { wait: { seconds: waits } } }], timeout: { after: { minutes: 5 } } } }],
    });
    const slowed = startRun(client, {
      do: [
        {
          late: {
            try: [{ slow: { wait: { minutes: 5 }, timeout: { after: { seconds: limit } } } }],
            catch: { do: [{ told: { set: { late: true } } }] },
          },
        },
      ],
    });
    const shaken = async (started: Promise<RunRecord>, task: string, seconds: number) => {
      const { id } = await started;
      const shakenAt = await shakeUnderWay(id, `/${task}`);
      const run = await ends(id);
      const done = run['tasks'].find(({ name }: RunRecord) => name === task);
      const startedAt = Date.parse(done['started_at']);
      const ms = Date.parse(done['finished_at']) - startedAt;
      // A deadline that began anew with the execution would be so much later.
      return { run, ms, anewMs: seconds * 1_000 + shakenAt - startedAt };
    };
    const [pause, slow] = await Promise.all([shaken(paused, 'pause', waits), shaken(slowed, 'slow', limit)]);
    expect([pause.run['status'], slow.run]).toMatchObject([
      'completed',
      { status: 'completed', output: { late: true } },
    ]);
    expect(pause.ms).toBeGreaterThanOrEqual(waits * 1_000);
    expect(pause.ms).toBeLessThan(pause.anewMs);
    expect(slow.ms).toBeGreaterThanOrEqual(limit * 1_000);
    expect(slow.ms).toBeLessThan(slow.anewMs);
    once(pause.run);
    once(slow.run);
  });

  test.concurrent('keeps a pause before a retry', async () => {
    const { id } = await startRun(client, {
      do: [
        {
          guarded: {
            try: [
              { note: { set: { n: 1 }, export: { as: '{n: (($context.n // 0) + 1)}' } } },
              { fail: { raise: { error: { type: 'https://example.com/e', status: 500 } } } },
            ],
            catch: {
              retry: { delay: { seconds: 15 }, limit: { attempt: { count: 1 } } },
              do: [{ told: { set: '${ $context }' } }],
            },
          },
        },
      ],
    });
    await until(
      () => read(id),
      ({ waiting_on }) => waiting_on.length > 0,
    );
    await shake(id);
    const run = await ends(id);
    expect(run).toMatchObject({ status: 'completed', output: { n: 1 } });
    expect(
      run['tasks'].filter(({ name }: RunRecord) => name === 'note').map(({ attempt }: RunRecord) => attempt),
    ).toEqual([1, 2]);
  });

  test.concurrent('keeps a fork with children, people, timers and loops in its branches', async () => {
    const ask = { call: 'human', with: { title: 'Well?' }, output: { as: '.decision' } };
    const child = {
      document: { dsl: '1.0.3', namespace: 'can', name: 'child', version: '1.0.0' },
      do: [{ ask }, { told: { set: { child: '${ . }' } } }],
    };
    expect((await client.post('/workflows', { name: 'child', definition: child })).body.runnable).toBe(true);
    const { id } = await startRun(client, {
      do: [
        { before: { set: { n: 0 }, export: { as: '{kept: {by: "all"}}' } } },
        {
          all: {
            fork: {
              branches: [
                {
                  sub: {
                    run: { workflow: { namespace: 'can', name: 'child', version: '1.0.0' } },
                    export: { as: '$context + {sub: ., kept: {by: "sub"}}' },
                  },
                },
                { person: ask },
                {
                  loop: {
                    for: { in: '[range(200)]' },
                    do: [{ add: { set: '${ {sum: ((.sum // 0) + $item)} }' } }],
                    export: { as: '$context + {loop: .sum}' },
                  },
                },
                { timer: { do: [{ pause: { wait: { seconds: 1 } } }, { s: { set: '"paused"' } }] } },
              ],
            },
          },
        },
        { last: { set: { all: '${ . }', context: '${ $context }' } } },
      ],
    });
    const waits = await until(
      () => read(id),
      ({ status, waiting_on }) => status === 'waiting' && waiting_on.length === 2,
    );
    expect(waits['waiting_on'].map(({ kind }: RunRecord) => kind)).toEqual(['human', 'human']);
    await shake(id);
    const [childRun, ...more] = (await client.get(`/runs?parent_run_id=${id}`)).body;
    expect(more).toEqual([]);
    await shake(childRun.id);
    const [ofChild] = await tasksOf(childRun.id);
    expect(await decide(ofChild?.['id'])).toBe(200);
    await until(
      () => read(id),
      ({ waiting_on }) => waiting_on.length === 1,
    );
    await shake(id);
    const [own] = await tasksOf(id);
    expect(await decide(own?.['id'], 'reject')).toBe(200);
    const run = await ends(id);
    expect(run).toMatchObject({
      status: 'completed',
      output: {
        all: [{ child: 'approve' }, 'reject', { sum: 19_900 }, 'paused'],
        context: { kept: { by: 'sub' }, sub: { child: 'approve' }, loop: 19_900 },
      },
    });
    gapless(run);
    once(run);
  });

  test.concurrent('keeps a cancellation', async () => {
    const { id } = await startRun(client, {
      do: [
        {
          both: {
            fork: {
              branches: [{ ask: humanTask('Well?') }, { pause: { wait: { minutes: 5 } } }],
            },
          },
        },
      ],
    });
    await until(
      () => tasksOf(id),
      ({ length }) => length > 0,
    );
    await shake(id);
    await client.post(`/runs/${id}/cancel`);
    const run = await ends(id);
    expect(run['status']).toBe('cancelled');
    expect(run['tasks'].map(({ status }: RunRecord) => status)).toEqual([
      'cancelled',
      'cancelled',
      'cancelled',
    ]);
    expect((await client.get(`/hitl/tasks?run_id=${id}&status=cancelled`)).body).toHaveLength(1);
  });
});
