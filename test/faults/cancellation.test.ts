/**
 * A cancel or a timeout wins, even if a branch or an attempt has faulted before and its fault is still to be
 * reported.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from '../support/app.ts';
import {
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { humanTask } from '../support/definitions.ts';

let platform: TestPlatform;
let builder: Client;
beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
});
afterAll(() => platform.close());

const read = async (id: string): Promise<RunRecord> => (await builder.get(`/runs/${id}`)).body;
const ended = (id: string): Promise<RunRecord> =>
  until(
    () => read(id),
    ({ status }) => ['completed', 'faulted', 'cancelled'].includes(status),
  );

const fail = { fail: { raise: { error: { type: 'https://example.com/broken', status: 500 } } } };
const longWait = { nap: { wait: { minutes: 10 } } };
const competing = { race: { fork: { compete: true, branches: [fail, longWait] } } };
const caught = (item: unknown, more: Record<string, unknown> = {}) => ({
  guarded: { try: [item], catch: { ...more } },
});

const shapes: [string, unknown[]][] = [
  ['a competing fork in which a branch has faulted', [competing]],
  ['such a fork in a try that catches everything', [caught(competing), { after: { set: { after: true } } }]],
  ['such a fork in a try, as the last task', [caught(competing)]],
  [
    'such a fork as a branch of another',
    [{ outer: { fork: { compete: true, branches: [fail, competing] } } }],
  ],
  ['such a fork in a loop', [{ loop: { for: { in: '[range(3)]' }, do: [caught(competing)] } }]],
  ['the pause before a retry', [caught(fail, { retry: { delay: { minutes: 10 } } })]],
  [
    'a competing fork of human tasks',
    [
      {
        race: { fork: { compete: true, branches: [fail, { ask: humanTask('?') }] } },
      },
    ],
  ],
];

test.each(shapes)('a cancel ends a run that waits in %s', async (_shape, tasks) => {
  const { id } = await startRun(builder, { do: tasks });
  await until(
    () => read(id),
    ({ waiting_on }) => waiting_on.length > 0,
  );
  expect((await builder.post(`/runs/${id}/cancel`)).status).toBeLessThan(300);
  const run = await ended(id);
  expect(run).toMatchObject({ status: 'cancelled', error: null, output: null });
  const last = run['logs'].at(-1);
  expect(last.type).toBe('io.serverlessworkflow.workflow.cancelled.v1');
  expect(run['logs'].map(({ task }: RunRecord) => task)).not.toContain('/do/1/after');
});

test.each([
  [
    'the timeout of the task',
    { do: [{ race: { ...competing.race, timeout: { after: { milliseconds: 500 } } } }] },
  ],
  [
    'the timeout of the list around it',
    { do: [{ list: { do: [competing], timeout: { after: { milliseconds: 500 } } } }] },
  ],
  ['the timeout of the workflow', { timeout: { after: { milliseconds: 500 } }, do: [caught(competing)] }],
  [
    'the time limit of an attempt',
    {
      do: [
        caught(competing, {
          errors: { with: { type: 'https://example.com/broken' } },
          retry: { limit: { attempt: { count: 0, duration: { milliseconds: 500 } } } },
        }),
      ],
    },
  ],
])('%s wins over the fault of a branch in a competing fork', async (_which, definition) => {
  expect(await platform.runToEnd(definition)).toMatchObject({
    status: 'faulted',
    error: { type: expect.stringMatching(/\/timeout$/) },
  });
});
