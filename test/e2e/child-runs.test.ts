/** Child runs: which of them end with their parent, and how they are retried. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '../support/app.ts';
import { forgetActivity } from '../support/forget-activity.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import {
  endOf,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { workflowAgent } from '../support/workflow-agent.ts';
import { agentTask, httpTask, humanTask } from '../support/definitions.ts';

let platform: TestPlatform;
let builder: Client;
let workflows = 0;
let counterpart: TestServer;
/** Paths that wait for these before they answer. */
const gates = new Map<string, Promise<void>>();
/** Paths that answer 503. */
const failing = new Set<string>();

beforeAll(async () => {
  counterpart = await startServer(async ({ path }, response) => {
    await gates.get(path);
    sendJson(response, { path }, failing.has(path) ? 503 : 200);
  });
  platform = await startTestPlatform();
  builder = await platform.as('builder');
});
afterAll(async () => {
  await platform.close();
  await counterpart.close();
});

const runOf = async (id: string): Promise<RunRecord> => (await builder.get(`/runs/${id}`)).body;
const statusIs = (id: string, status: string): Promise<RunRecord> =>
  until(
    () => runOf(id),
    (run) => run['status'] === status,
  );
const childrenOf = async (id: string): Promise<RunRecord[]> =>
  (await builder.get(`/runs?parent_run_id=${id}`)).body;

/** Saves a workflow. @returns the reference for `run: workflow`. */
async function workflow(tasks: unknown): Promise<Record<string, unknown>> {
  const reference = { namespace: 'kids', name: `child-${++workflows}`, version: '1.0.0' };
  const saved = await builder.post('/workflows', {
    name: reference.name,
    definition: { document: { dsl: '1.0.3', ...reference }, do: tasks },
  });
  expect(saved.body.problems).toEqual([]);
  return reference;
}

const question = [{ ask: humanTask('Go on?') }];

async function approve(runId: string): Promise<void> {
  const [task] = await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${runId}`)).body as RunRecord[],
    (tasks) => tasks.length === 1,
  );
  expect((await builder.post(`/hitl/tasks/${task?.['id']}/decision`, { decision: 'approve' })).status).toBe(
    200,
  );
}

describe('a child with await: false', () => {
  const detached = async (after: unknown[]): Promise<{ parent: RunRecord; child: RunRecord }> => {
    const asks = await workflow(question);
    const parent = await startRun(builder, {
      do: [{ sub: { run: { workflow: asks, await: false } } }, ...after],
    });
    const { tasks } = await until(
      () => runOf(parent['id']),
      (run) =>
        run['tasks'].some((task: RunRecord) => task['name'] === 'sub' && task['status'] === 'completed'),
    );
    const { child_run_id: id } = tasks.find((task: RunRecord) => task['name'] === 'sub');
    return { parent, child: await statusIs(id, 'waiting') };
  };
  /** Waits for the end of the child, which comes after that of its parent. */
  const endAfter = async (
    { parent, child }: { parent: RunRecord; child: RunRecord },
    ended: string,
  ): Promise<RunRecord> => {
    await statusIs(parent['id'], ended);
    expect(
      (await builder.get(`/runs/${child['id']}/logs`)).body.filter((entry: RunRecord) =>
        entry['type'].includes('cancel'),
      ),
    ).toEqual([]);
    await approve(child['id']);
    return statusIs(child['id'], 'completed');
  };
  const approved = { status: 'completed', output: { decision: 'approve' } };

  test('goes on when its parent completes', async () => {
    expect(await endAfter(await detached([]), 'completed')).toMatchObject(approved);
  });

  test('goes on when its parent faults', async () => {
    expect(
      await endAfter(
        await detached([{ fail: { raise: { error: { type: 'https://example.com/broken', status: 500 } } } }]),
        'faulted',
      ),
    ).toMatchObject(approved);
  });

  test('goes on when its parent is cancelled, unlike an awaited child', async () => {
    const asks = await workflow(question);
    const runs = await detached([{ waits: { run: { workflow: asks } } }]);
    const [awaited] = await until(
      async () => (await childrenOf(runs.parent['id'])).filter(({ id }) => id !== runs.child['id']),
      (others) => others.length === 1,
    );
    await statusIs(awaited?.['id'], 'waiting');
    await builder.post(`/runs/${runs.parent['id']}/cancel`);
    expect(await endAfter(runs, 'cancelled')).toMatchObject(approved);
    await statusIs(awaited?.['id'], 'cancelled');
  });

  test('goes on when an admin terminates its parent', async () => {
    const runs = await detached([{ pause: { wait: { minutes: 5 } } }]);
    await statusIs(runs.parent['id'], 'waiting');
    expect((await (await platform.as('admin')).post(`/runs/${runs.parent['id']}/terminate`, {})).status).toBe(
      200,
    );
    expect(await endAfter(runs, 'cancelled')).toMatchObject(approved);
  });
});

test('the output of a child is that of its task, or nothing with `return: none`', async () => {
  const child = await workflow([{ answer: { set: { n: 42 } } }]);
  for (const [returned, output] of [
    ['none', null],
    ['stdout', { n: 42 }],
  ]) {
    const definition = { do: [{ sub: { run: { workflow: child, return: returned } } }] };
    expect(await startRun(builder, definition, {}, 30)).toMatchObject({ status: 'completed', output });
  }
});

test('a run whose Temporal was restored to before its child goes on with it, ended or not', async () => {
  const child = await workflow(question);
  const definition = { do: [{ sub: { run: { workflow: child } } }, { last: humanTask('Enough?') }] };
  const runs = await Promise.all([startRun(builder, definition), startRun(builder, definition)]);
  const children = await Promise.all(
    runs.map(async ({ id }) => {
      const [made] = await until(
        () => childrenOf(id),
        ([one]) => one?.['status'] === 'waiting',
      );
      return String(made?.['id']);
    }),
  );
  const [living, ended] = runs.map(({ id }) => String(id));
  await approve(children[1] ?? '');
  const isAsked = (tasks: RunRecord[]): boolean => tasks.length === 1;
  const asked = async (id = ''): Promise<RunRecord[]> => (await builder.get(`/hitl/tasks?run_id=${id}`)).body;
  await until(() => asked(ended), isAsked);
  for (const id of [living, ended]) await forgetActivity(platform, id ?? '', 'createChildRun');
  await approve(children[0] ?? '');
  for (const id of [living, ended]) {
    await approve(id ?? '');
    await statusIs(id ?? '', 'completed');
    expect((await childrenOf(id ?? '')).map((one) => one['id'])).toHaveLength(1);
  }
});

describe('retrying a run with child runs', () => {
  const http = (path: string) => httpTask(`${counterpart.url}${path}`);
  const calls = (path: string): number => counterpart.seen.filter((request) => request.path === path).length;
  const sub = (reference: unknown) => ({ run: { workflow: reference } });
  const retry = async (run: RunRecord): Promise<RunRecord> => {
    const { status, body } = await builder.post(
      `/runs/${run['id']}/retry`,
      {},
      { headers: { prefer: 'wait=30' } },
    );
    expect([status, body.retry_of]).toEqual([201, run['id']]);
    return endOf(builder, body);
  };
  const onlyChildOf = async (run: RunRecord): Promise<RunRecord> => {
    const [child, ...more] = await childrenOf(run['id']);
    expect(more).toEqual([]);
    return child ?? {};
  };

  test('retries a faulted child over several levels, without repeating completed tasks', async () => {
    failing.add('/deep');
    const grandchild = await workflow([{ before: http('/grandchild-before') }, { deep: http('/deep') }]);
    const child = await workflow([{ before: http('/child-before') }, { sub: sub(grandchild) }]);
    const sibling = await workflow([{ a: http('/sibling') }]);
    const run = await startRun(
      builder,
      { do: [{ first: sub(sibling) }, { sub: sub(child) }, { after: http('/parent-after') }] },
      {},
      30,
    );
    expect(run).toMatchObject({ status: 'faulted', error: { status: 503, instance: '/do/1/sub' } });

    // The service still fails: each level faults at the same place, and leaves a state to continue from.
    const second = await retry(run);
    expect(second).toMatchObject({ status: 'faulted', error: { status: 503 } });
    failing.delete('/deep');
    const third = await retry(second);
    expect(third).toMatchObject({ status: 'completed', output: { path: '/parent-after' } });
    expect(['/sibling', '/child-before', '/grandchild-before', '/deep', '/parent-after'].map(calls)).toEqual([
      1, 1, 1, 3, 1,
    ]);

    const [of1, of2, of3] = [
      (await childrenOf(run['id']))[0] ?? {},
      await onlyChildOf(second),
      await onlyChildOf(third),
    ];
    expect([of1['retry_of'], of2['retry_of'], of3['retry_of']]).toEqual([null, of1['id'], of2['id']]);
    expect((await onlyChildOf(of3))['retry_of']).toBe((await onlyChildOf(of2))['id']);
    expect(of3).toMatchObject({ status: 'completed', workflow_revision: 1, parent_run_id: third['id'] });
  });

  test('keeps the output of a child that completed before the task failed', async () => {
    const child = await workflow([{ a: http('/kept') }]);
    const run = await startRun(
      builder,
      { do: [{ sub: { ...sub(child), output: { as: '${ error("no use: " + .path) }' } } }] },
      {},
      30,
    );
    expect(run).toMatchObject({
      status: 'faulted',
      error: { detail: expect.stringContaining('no use: /kept') },
    });
    const { id } = await onlyChildOf(run);
    const again = await retry(run);
    expect(again).toMatchObject({
      status: 'faulted',
      error: { detail: expect.stringContaining('no use: /kept') },
    });
    expect([calls('/kept'), await childrenOf(again['id'])]).toEqual([1, []]);
    expect(again['logs'].find(({ type }: RunRecord) => type.includes('child.created'))).toMatchObject({
      data: { child_run_id: id },
      message: expect.stringContaining('had already completed'),
    });
  });

  test('keeps the run of a workflow agent, which is not invoked again', async () => {
    failing.add('/agent-deep');
    const agent = await workflowAgent(builder, {
      do: [{ before: http('/agent-before') }, { deep: http('/agent-deep') }],
    });
    const run = await startRun(builder, { do: [{ ask: agentTask(agent, { input: {} }) }] }, {}, 30);
    expect(run).toMatchObject({ status: 'faulted', error: { status: 503 } });
    failing.delete('/agent-deep');
    expect(await retry(run)).toMatchObject({ status: 'completed', output: { path: '/agent-deep' } });
    expect([calls('/agent-before'), calls('/agent-deep')]).toEqual([1, 2]);
  });

  test('starts a cancelled child again, but not one with await: false', async () => {
    failing.add('/fork-fails');
    // The other branch fails while the child is in its second call, which nobody answers the first time.
    const [slowBegun, retried] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    gates.set('/fork-fails', slowBegun.promise);
    gates.set('/slow-then', retried.promise);
    const slow = await workflow([{ before: http('/slow-before') }, { then: http('/slow-then') }]);
    const begun = until(
      async () => calls('/slow-then'),
      (count) => count > 0,
    ).then(() => slowBegun.resolve());
    const detached = await workflow([{ a: http('/detached') }]);
    const run = await startRun(
      builder,
      {
        do: [
          {
            loose: {
              run: { workflow: detached, await: false },
              output: { as: '${ if $workflow.input.go then . else . end }' },
            },
          },
          {
            both: {
              fork: {
                branches: [
                  { slow: sub(slow) },
                  {
                    fails: http('/fork-fails'),
                  },
                ],
              },
            },
          },
        ],
      },
      {},
      30,
    );
    await begun;
    expect(run).toMatchObject({ status: 'faulted' });
    // The parent does not wait for it: if its call were answered before the cancellation, it would complete.
    await until(
      () => childrenOf(run['id']),
      (children) => children.some(({ status }) => status === 'cancelled'),
    );
    failing.delete('/fork-fails');
    retried.resolve();
    expect(await retry(run)).toMatchObject({ status: 'completed' });
    expect([calls('/slow-before'), calls('/detached')]).toEqual([2, 1]);
  });

  test('by the retry of the definition starts a child from its beginning', async () => {
    failing.add('/attempts');
    const child = await workflow([{ before: http('/attempts-before') }, { a: http('/attempts') }]);
    const run = await startRun(
      builder,
      {
        do: [{ try: { try: [{ sub: sub(child) }], catch: { retry: { limit: { attempt: { count: 1 } } } } } }],
      },
      {},
      30,
    );
    expect(run).toMatchObject({ status: 'faulted' });
    expect([calls('/attempts-before'), calls('/attempts')]).toEqual([2, 2]);
    expect((await childrenOf(run['id'])).map(({ retry_of }) => retry_of)).toEqual([null, null]);
  });
});

test('a parent gets the beginning of a long error of its child, whose record has the whole', async () => {
  const detail = 'd'.repeat(100_000);
  const error = { type: 'https://example.com/broken', status: 500, title: 'Broken', detail };
  const breaks = await workflow([{ breaks: { raise: { error } } }]);
  const parent = await startRun(builder, {
    do: [
      {
        attempt: {
          try: [{ sub: { run: { workflow: breaks } } }],
          catch: { as: 'problem', do: [{ keep: { set: { detail: '${ $problem.detail }' } } }] },
        },
      },
    ],
  });
  const ended = await endOf(builder, parent);
  expect(ended).toMatchObject({ status: 'completed', output: { detail: `${'d'.repeat(8_192)}…` } });
  const [child] = await childrenOf(parent['id']);
  expect((await runOf(child?.['id'])).error.detail).toBe(detail);
});
