/** A counterpart learns at once that a call is cancelled: its connection ends, or it gets a message. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startRemoteAgent } from '../support/a2a-agent.ts';
import { agentBody } from '../support/agent-body.ts';
import type { Client } from '../support/app.ts';
import { startServer, type TestServer } from '../support/http-server.ts';
import {
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { agentTask, httpTask } from '../support/definitions.ts';

/**
 * The worker sends the heartbeats of a call after 4 s and, throttled by the SDK, after 16 s. Between them
 * only a notification tells it of a cancellation, however busy the machine is.
 */
const AFTER_FIRST_MS = 5_500;
const BEFORE_SECOND_MS = 15_500;

let platform: TestPlatform;
let builder: Client;
let counterpart: TestServer;
/** When the requests of these paths arrived, and when their connections ended. */
const opened = new Map<string, number>();
const closed = new Map<string, number>();

beforeAll(async () => {
  counterpart = await startServer(({ path }, response) => {
    opened.set(path, Date.now());
    response.on('close', () => closed.set(path, Date.now()));
  });
  platform = await startTestPlatform();
  builder = await platform.as('builder');
});
afterAll(async () => {
  await platform.close();
  await counterpart.close();
});

const slow = (path: string) => httpTask(`${counterpart.url}${path}`);
const timeIn = (times: Map<string, number>, path: string): Promise<number> =>
  until(
    async () => times.get(path) ?? 0,
    (at) => at > 0,
  );
/** Until the call of this path is between its two heartbeats. */
async function untilFirstHeartbeat(path: string): Promise<void> {
  await sleep((await timeIn(opened, path)) + AFTER_FIRST_MS - Date.now());
}
/** How long the call of this path lasted. */
const lastedMs = async (path: string): Promise<number> =>
  (await timeIn(closed, path)) - (await timeIn(opened, path));
const runOf = async (id: string): Promise<RunRecord> => (await builder.get(`/runs/${id}`)).body;

// At once, because each waits for heartbeats.
test.concurrent('a cancelled run ends the calls of all its branches', async () => {
  const run = await startRun(builder, {
    do: [
      { all: { fork: { branches: [{ a: slow('/cancel-a') }, { b: { do: [{ c: slow('/cancel-c') }] } }] } } },
    ],
  });
  await Promise.all(['/cancel-a', '/cancel-c'].map(untilFirstHeartbeat));
  await builder.post(`/runs/${run['id']}/cancel`);
  for (const path of ['/cancel-a', '/cancel-c']) expect(await lastedMs(path)).toBeLessThan(BEFORE_SECOND_MS);
});

test.concurrent('a terminated run ends its call', async () => {
  const run = await startRun(builder, { do: [{ a: slow('/terminate') }] });
  await untilFirstHeartbeat('/terminate');
  await (await platform.as('admin')).post(`/runs/${run['id']}/terminate`, {});
  expect(await lastedMs('/terminate')).toBeLessThan(BEFORE_SECOND_MS);
});

test.concurrent('a timeout ends the call, and the run goes on', async () => {
  const run = await startRun(builder, {
    do: [
      {
        try: {
          try: [{ late: { timeout: { after: { milliseconds: AFTER_FIRST_MS } }, ...slow('/late') } }],
          catch: { do: [{ sorry: { set: { late: true } } }] },
        },
      },
      { pause: { wait: { minutes: 5 } } },
    ],
  });
  expect(await lastedMs('/late')).toBeLessThan(BEFORE_SECOND_MS);
  await until(
    () => runOf(run['id']),
    ({ status }) => status === 'waiting',
  );
  await builder.post(`/runs/${run['id']}/cancel`);
});

test.concurrent('the losing branch of a competing fork ends its call, and no other call', async () => {
  const nap = { wait: { milliseconds: AFTER_FIRST_MS } };
  const race = {
    fork: { compete: true, branches: [{ slow: slow('/loses') }, { fast: { do: [{ nap }] } }] },
  };
  const run = await startRun(builder, {
    do: [{ both: { fork: { branches: [{ race }, { other: slow('/stays') }] } } }],
  });
  expect(await lastedMs('/loses')).toBeLessThan(BEFORE_SECOND_MS);
  await timeIn(opened, '/stays');
  expect(closed.has('/stays')).toBe(false);
  await builder.post(`/runs/${run['id']}/cancel`);
  await timeIn(closed, '/stays');
});

test.concurrent('cancelling a run cancels the task of its A2A agent', async () => {
  const agent = await startRemoteAgent();
  try {
    const { body } = await builder.post(
      '/agents',
      agentBody({ name: 'Remote', type: 'a2a', url: agent.url }),
    );
    expect(body.name).toBe('Remote');
    const run = await startRun(builder, {
      do: [{ ask: agentTask(body.id, { input: 'hold' }) }],
    });
    await until(
      async () => agent.tasks.size,
      (tasks) => tasks === 1,
    );
    const begun = Date.now();
    await sleep(AFTER_FIRST_MS);
    await builder.post(`/runs/${run['id']}/cancel`);
    await until(
      async () => agent.cancelled.length,
      (cancelled) => cancelled === 1,
    );
    expect(Date.now() - begun).toBeLessThan(BEFORE_SECOND_MS);
  } finally {
    await agent.close();
  }
});
