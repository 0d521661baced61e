/** Receivers that do not answer hold only a part of a worker's slots; other deliveries go on. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';

import type { Client } from '../support/app.ts';
import { startServer, type TestServer } from '../support/http-server.ts';
import { startTestPlatform, until, type TestPlatform } from '../support/platform.ts';

/** Of one holder, or to one receiver. */
const MAX_TOGETHER = 25;
/** Fewer than there are slow receivers. */
const SLOTS = 40;

let platform: TestPlatform;
let slow: TestServer;
let fast: TestServer;
/** Requests that the slow server holds, without those that the worker has given up. */
const held: (() => void)[] = [];
/** As many as it has held at one time. */
let mostHeld = 0;
let releasing: NodeJS.Timeout | undefined;

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  slow = await startServer(async (_request, response) => {
    await new Promise<void>((resolve) => {
      mostHeld = Math.max(mostHeld, held.push(resolve));
      response.once('close', () => {
        if (held.includes(resolve)) held.splice(held.indexOf(resolve), 1);
        resolve();
      });
    });
    response.writeHead(200).end();
  });
  fast = await startServer((_request, response) => void response.writeHead(200).end());
});
beforeEach(() => {
  mostHeld = 0;
  slow.seen.splice(0);
});
afterEach(async () => {
  await platform.stopWorker();
  clearInterval(releasing);
});
afterAll(async () => {
  await platform.close();
  await slow.close();
  await fast.close();
});

async function webhooksTo(client: Client, url: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let number = 0; number < count; number += 1) {
    const { status, body } = await client.post('/webhooks', { url: `${url}/${number}`, types: ['none'] });
    expect([status, body.detail]).toEqual([201, undefined]);
    expect((await client.post(`/webhooks/${body.id}/test`)).status).toBe(202);
    ids.push(body.id);
  }
  return ids;
}

async function expectDelivered(client: Client, ids: readonly string[]): Promise<void> {
  for (const id of ids)
    await until(
      async () => (await client.get(`/webhooks/${id}/deliveries`)).body as { status: string }[],
      ([delivery]) => delivery?.status === 'delivered',
    );
}

/** Until all have arrived that may wait together. */
async function untilFull(): Promise<void> {
  await platform.startWorker({ maxActivities: SLOTS });
  await until(
    async () => held.length,
    (count) => count >= MAX_TOGETHER,
  );
}

/** What is held is answered, and so is what follows, until the test ends. */
function release(): void {
  releasing = setInterval(() => held.splice(0).forEach((answer) => answer()), 20);
}

test('50 receivers of one owner that hang leave room for those of another', async () => {
  const owner = await platform.as(await platform.createUser({ roles: ['builder'] }));
  const other = await platform.as(await platform.createUser({ roles: ['builder'] }));
  const hanging = await webhooksTo(owner, slow.url, 50);
  const quick = await webhooksTo(other, fast.url, 1);
  await untilFull();
  await expectDelivered(other, quick);
  expect(mostHeld).toBe(MAX_TOGETHER);
  release();
  await expectDelivered(owner, hanging);
  // One that the worker had given up comes again.
  expect(new Set(slow.seen.map(({ path }) => path)).size).toBe(50);
});

test('so does one receiver that hangs, whoever sends to it', async () => {
  const owners = await Promise.all(
    Array.from({ length: 5 }, async () => platform.as(await platform.createUser({ roles: ['builder'] }))),
  );
  const hanging = await Promise.all(owners.map((owner) => webhooksTo(owner, slow.url, 10)));
  const [owner] = owners as [Client];
  const quick = await webhooksTo(owner, fast.url, 1);
  await untilFull();
  await expectDelivered(owner, quick);
  expect(mostHeld).toBe(MAX_TOGETHER);
  release();
  for (const [index, ids] of hanging.entries()) await expectDelivered(owners[index]!, ids);
});

test('a worker that is short of memory gives one holder two of its eight slots', async () => {
  const short = await startTestPlatform({ worker: false, env: { WORKER_MEMORY_MIB: '256' } });
  // This process holds more than its worker may.
  const ballast = Buffer.alloc(256 * 1024 * 1024, 1);
  try {
    const owner = await short.as(await short.createUser({ roles: ['builder'] }));
    const other = await short.as(await short.createUser({ roles: ['builder'] }));
    const hanging = await webhooksTo(owner, slow.url, 10);
    const quick = await webhooksTo(other, fast.url, 3);
    await short.startWorker();
    await until(
      async () => held.length,
      (count) => count >= 2,
    );
    await expectDelivered(other, quick);
    expect(mostHeld).toBe(2);
    release();
    await expectDelivered(owner, hanging);
    expect(process.memoryUsage.rss()).toBeGreaterThan(ballast.length);
  } finally {
    await short.close();
  }
});
