/** A definition that never waits can be stopped like any other, and cannot fill its log. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '../support/app.ts';
import { createTestDatabase, smallTemporal } from '../support/servers.ts';
import {
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';

let platform: TestPlatform;
let builder: Client;
let tight: TestPlatform;
beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  const [database, temporal] = await Promise.all([createTestDatabase(), smallTemporal()]);
  tight = await startTestPlatform({ servers: { database, temporal }, env: { RUN_MAX_EVENTS: '1000' } });
});
afterAll(() => Promise.all([platform.close(), tight.close()]));

const read = async (id: string): Promise<RunRecord> => (await builder.get(`/runs/${id}`)).body;
const lastSeq = (run: RunRecord): number => run['logs'].at(-1)?.seq ?? 0;
/**
 * Far fewer than a loop writes if nothing stops it, far more than those under way when the command arrives.
 */
const FEW_EVENTS = 3_000;

const count = { set: { n: '${ (.n // 0) + 1 }' } };
/** Each loop needs a way out, because the validation refuses endless ones. */
const back = {
  again: { switch: [{ enough: { when: '(.n // 0) > 1000000000', then: 'exit' } }, { more: { then: 'a' } }] },
};
const forever = [{ a: count }, back];
const loops: [string, unknown[]][] = [
  ['set tasks with a backward then', forever],
  ['a for of set', [{ loop: { for: { in: '[range(40000)]' }, do: [{ a: count }] } }]],
  [
    'loops in loops',
    [
      {
        outer: {
          for: { in: '[range(4000)]' },
          do: [{ inner: { for: { in: '[range(4000)]' }, do: [{ a: count }] } }],
        },
      },
    ],
  ],
  [
    'tasks whose condition is false',
    [{ a: { if: 'false', ...count } }, { b: { if: 'false', ...count } }, back],
  ],
  [
    'a try that catches and starts again',
    [
      {
        t: {
          try: [{ fail: { raise: { error: { type: 'https://example.com/e', status: 500 } } } }],
          catch: { do: [{ counted: count }] },
        },
      },
      {
        again: {
          switch: [{ enough: { when: '(.n // 0) > 1000000000', then: 'exit' } }, { more: { then: 't' } }],
        },
      },
    ],
  ],
  [
    'branches that all loop',
    [{ all: { fork: { branches: [{ one: { do: forever } }, { two: { do: forever } }] } } }],
  ],
];

describe.each(loops)('a run with %s', (_name, tasks) => {
  test('sees a suspension and a cancel between two tasks', async () => {
    const { id } = await startRun(builder, { do: tasks });
    await until(
      () => read(id),
      (run) => lastSeq(run) > 200,
    );
    await builder.post(`/runs/${id}/suspend`);
    const suspended = await until(
      () => read(id),
      ({ status }) => status === 'suspended',
    );
    // Only events that were under way at the suspension may follow it.
    const rest = await until(
      () => read(id),
      ({ logs }) => logs.some(({ type }: RunRecord) => type.endsWith('workflow.suspended.v1')),
    );
    await builder.post(`/runs/${id}/resume`);
    await until(
      () => read(id),
      (run) => lastSeq(run) > lastSeq(suspended) + 200,
    );
    const before = lastSeq(await read(id));
    await builder.post(`/runs/${id}/cancel`);
    const run = await until(
      () => read(id),
      ({ status }) => status === 'cancelled',
    );
    expect(lastSeq(rest) - lastSeq(suspended)).toBeLessThan(FEW_EVENTS);
    expect(lastSeq(run) - before).toBeLessThan(FEW_EVENTS);
  });

  test('faults when its log is full, whatever it catches', async () => {
    const run = await tight.runToEnd({ do: tasks });
    expect(run).toMatchObject({
      status: 'faulted',
      error: {
        type: expect.stringMatching(/\/runtime$/),
        detail: expect.stringMatching(
          /^limit exceeded: the run has added 10\d\d events to its log, and may add 1000$/,
        ),
      },
    });
    expect(lastSeq(run)).toBeLessThan(1_100);
  });
});

test('a timeout ends a loop that never waits', async () => {
  const run = await platform.runToEnd({
    do: [{ loop: { do: forever, timeout: { after: { seconds: 1 } } } }],
  });
  expect(run).toMatchObject({
    status: 'faulted',
    error: { type: expect.stringMatching(/\/timeout$/), instance: '/do/0/loop' },
  });
});
