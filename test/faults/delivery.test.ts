import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startServer, type TestServer } from '../support/http-server.ts';
import { startTestPlatform, until, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';

let platform: TestPlatform;
let server: TestServer;
let worker: Program | null = null;
/** The server waits for this promise before it answers. */
let gate: Promise<void> = Promise.resolve();

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  server = await startServer(async (_request, response) => {
    await gate;
    response.writeHead(200).end();
  });
});

afterAll(async () => {
  await worker?.kill();
  await server.close();
  await platform.close();
});

test('kill -9 of a delivering worker repeats only the delivery under way, and keeps the order', async () => {
  const builder = await platform.as('builder');
  const { id } = (await builder.post('/webhooks', { url: server.url, types: ['none'] })).body;
  const sent: string[] = [];
  for (let n = 0; n < 5; n++) sent.push((await builder.post(`/webhooks/${id}/test`)).body.event_id);
  const released = Promise.withResolvers<void>();
  gate = released.promise;
  worker = await startProgram('worker', platform);
  await until(
    async () => server.seen.length,
    (count) => count === 1,
  );
  await worker.kill();
  released.resolve();
  await worker.start();
  const read = async () =>
    (await builder.get(`/webhooks/${id}/deliveries`)).body as { status: string; attempts: number }[];
  const rows = await until(read, (all) => all.every(({ status }) => status === 'delivered'));
  expect(server.seen.map(({ headers }) => headers['webhook-id'])).toEqual([sent[0], ...sent]);
  expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 2]);
});
