/** Bodies without a log-in count for each address, of IPv6 for each network of a household. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect, type Socket } from 'node:net';

import { startTestApp, type TestApp } from '../support/app.ts';

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

function unfinished(address: string): () => number | null {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (data) => (answer += String(data))).on('error', () => {});
  socket.write(
    `POST /hooks/${hook} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n` +
      `x-forwarded-for: ${address}\r\ncontent-length: ${BYTES + 1}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(BYTES, ' '));
  sockets.push(socket);
  return () => (answer === '' ? null : Number(answer.slice(9, 12)));
}

async function refused(addressOf: (index: number) => string, count: number): Promise<number> {
  const all = Array.from({ length: count }, (_, index) => unfinished(addressOf(index)));
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const statuses = all.map((status) => status());
  for (const socket of sockets.splice(0)) socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 500));
  return statuses.filter((status) => status === 429).length;
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
