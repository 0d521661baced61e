/** Bodies without a log-in count for each address, of IPv6 for each network of a household. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect, type Socket } from 'node:net';

import { startTestApp, type TestApp } from '../support/app.ts';
import { until } from '../support/platform.ts';

const BYTES = 2_000_000;
let app: TestApp;
let hook: string;
const sockets: Socket[] = [];
beforeAll(async () => {
  app = await startTestApp({ env: { TRUST_PROXY: 'true' } });
  const owner = await app.as('builder');
  await owner.put('/secrets/KEY', { value: 'a-key-of-some-length-1234' });
  hook = (await owner.post('/hooks', { name: 'h', scheme: 'github', secret: 'KEY' })).body.id;
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await app.close();
});

/** @returns whether it is refused: with 429, or closed, if the connection was reset before that was read */
function unfinished(address: string): () => boolean {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  let closed = false;
  socket.on('data', (data) => (answer += String(data))).on('error', () => {});
  socket.on('close', () => (closed = true));
  socket.write(
    `POST /hooks/${hook} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n` +
      `x-forwarded-for: ${address}\r\ncontent-length: ${BYTES + 1}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(BYTES, ' '));
  sockets.push(socket);
  return () => (answer === '' ? closed : Number(answer.slice(9, 12)) === 429);
}

/**
 * Until more than 20 of so many are refused; the others wait for their last byte.
 * @returns how many are by then, at the latest after two minutes
 */
async function refused(addressOf: (index: number) => string, count: number): Promise<number> {
  const all = Array.from({ length: count }, (_, index) => unfinished(addressOf(index)));
  const number = await until(
    async () => all.filter((isRefused) => isRefused()).length,
    (refusals) => refusals > 20,
  );
  for (const socket of sockets.splice(0)) socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 500));
  return number;
}

test('one address holds at most 64 MiB', async () => {
  expect(await refused(() => '2001:db8:1:1::1', 60)).toBeGreaterThan(20);
});

test('so do the addresses of one /64', async () => {
  expect(await refused((index) => `2001:db8:1:1::${(index + 2).toString(16)}`, 60)).toBeGreaterThan(20);
});

test('so do all addresses together, up to 256 MiB', async () => {
  const network = (index: number): string => `2001:db8:2:${index.toString(16)}::1`;
  expect(await refused(network, 160)).toBeGreaterThan(20);
});
