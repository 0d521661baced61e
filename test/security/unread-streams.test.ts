/** A client that opens a stream and does not read it costs little, for a limited time. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createHttpServer } from '../../api/http-server.ts';
import { appendEvents, serviceEvent } from '../../domain/runs/events.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { insertRun } from '../support/human-tasks.ts';
import { until } from '../support/platform.ts';

const UNREAD_MS = 1_000;
const MEBIBYTE = 1024 * 1024;
/** More than the system keeps for a connection. */
const EVENTS = { batches: 60, inBatch: 20, characters: 20_000 };

let app: TestApp;
const server = createHttpServer(undefined, { unreadMs: UNREAD_MS });
const responses: ServerResponse[] = [];
const sockets: Socket[] = [];

beforeAll(async () => {
  app = await startTestApp();
  server.on('request', (_request, response) => responses.push(response));
  server.on('connection', (socket) => sockets.push(socket));
  const answer = app.app.koa.callback();
  server.on('request', (request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await app.close();
});

async function writeEvents(run: string): Promise<void> {
  const padding = 'x'.repeat(EVENTS.characters);
  for (let batch = 0; batch < EVENTS.batches; batch++) {
    const events = Array.from({ length: EVENTS.inBatch }, (_, n) =>
      serviceEvent({ key: `${batch}:${n}`, type: 'io.cadenza.test.v1', message: padding }),
    );
    await app.orm.em
      .fork()
      .transactional((em) => appendEvents(em, run, { events, projection: null, acks: [] }));
  }
}

test.each([
  ['of one run', (run: string) => `/runs/${run}/events`],
  ['of all', () => '/events'],
])('a stream %s that nobody reads keeps little in memory, and is cut off', async (_which, pathOf) => {
  const user = await app.user('admin');
  const run = await insertRun(app.orm, { owner: user.id, status: 'running' });
  responses.length = sockets.length = 0;
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  client.pause();
  client.write(
    `GET ${pathOf(run)} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n` +
      `authorization: Bearer ${user.token}\r\n\r\n`,
  );
  await until(
    async () => responses[0]?.headersSent,
    (isOpen) => isOpen === true,
  );
  const [[response], [socket]] = [responses, sockets];
  if (!response || !socket) throw new Error('no stream');
  let most = 0;
  const look = setInterval(
    () => (most = Math.max(most, response.writableLength + socket.writableLength)),
    20,
  );
  const closed = once(response, 'close');
  // Above it, Node.js warns of a leak, once for each stream.
  expect(response.listenerCount('close')).toBeLessThanOrEqual(response.getMaxListeners());
  await writeEvents(run);
  await closed;
  clearInterval(look);
  client.destroy();
  expect(response.writableFinished).toBe(false);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(MEBIBYTE / 2);
});
