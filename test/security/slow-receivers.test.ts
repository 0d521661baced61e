/** Receivers that do not answer hold only a part of a worker's slots; other deliveries go on. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';

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
/** Requests that the slow server holds. */
const held: (() => void)[] = [];

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  slow = await startServer(async (_request, response) => {
    await new Promise<void>((resolve) => held.push(resolve));
    response.writeHead(200).end();
  });
  fast = await startServer((_request, response) => void response.writeHead(200).end());
});
afterEach(() => platform.stopWorker());
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

/** Until all have arrived that may wait together. @returns lets them, and all that follow, be answered */
async function untilFull(): Promise<() => Promise<void>> {
  await platform.startWorker({ maxActivities: SLOTS });
  await until(
    async () => held.length,
    (count) => count >= MAX_TOGETHER,
  );
  return async () => {
    const release = setInterval(() => held.splice(0).forEach((answer) => answer()), 20);
    await until(
      async () => slow.seen.length,
      (count) => count === 50,
    );
    clearInterval(release);
    held.splice(0).forEach((answer) => answer());
  };
}

test('50 receivers of one owner that hang leave room for those of another', async () => {
  const owner = await platform.as(await platform.createUser({ roles: ['builder'] }));
  const other = await platform.as(await platform.createUser({ roles: ['builder'] }));
  const hanging = await webhooksTo(owner, slow.url, 50);
  const quick = await webhooksTo(other, fast.url, 1);
  const release = await untilFull();
  await expectDelivered(other, quick);
  // None has timed out meanwhile.
  expect(held).toHaveLength(MAX_TOGETHER);
  await release();
  await expectDelivered(owner, hanging);
  expect(slow.seen.map(({ path }) => path).toSorted()).toEqual(
    Array.from({ length: 50 }, (_unused, number) => `/${number}`).toSorted(),
  );
});

test('so does one receiver that hangs, whoever sends to it', async () => {
  slow.seen.splice(0);
  const owners = await Promise.all(
    Array.from({ length: 5 }, async () => platform.as(await platform.createUser({ roles: ['builder'] }))),
  );
  const hanging = await Promise.all(owners.map((owner) => webhooksTo(owner, slow.url, 10)));
  const [owner] = owners as [Client];
  const quick = await webhooksTo(owner, fast.url, 1);
  const release = await untilFull();
  await expectDelivered(owner, quick);
  expect(held).toHaveLength(MAX_TOGETHER);
  await release();
  for (const [index, ids] of hanging.entries()) await expectDelivered(owners[index]!, ids);
});

test('a worker that is short of memory gives one holder two of its eight slots', async () => {
  slow.seen.splice(0);
  held.splice(0).forEach((answer) => answer());
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
    expect(held).toHaveLength(2);
    const release = setInterval(() => held.splice(0).forEach((answer) => answer()), 20);
    await expectDelivered(owner, hanging);
    clearInterval(release);
    expect(process.memoryUsage.rss()).toBeGreaterThan(ballast.length);
  } finally {
    await short.close();
  }
});
