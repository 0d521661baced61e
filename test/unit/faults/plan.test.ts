/** The plan of the long fault run, and the networks that it disturbs. */
import { createServer, type AddressInfo, connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startLink, type Link } from '../../faults/long-run/link.ts';
import { describeFault, planFaults } from '../../faults/long-run/plan.ts';
import { randomFrom } from '../../support/seeded.ts';

test('the same seed gives the same plan, another seed another one', () => {
  expect(planFaults(7, 10)).toEqual(planFaults(7, 10));
  expect(planFaults(7, 10)).not.toEqual(planFaults(8, 10));
});

test('a plan of half an hour has every kind of fault, for every part, and faults that overlap', () => {
  const plan = planFaults(1, 30);
  const kinds = new Set(plan.map(({ trouble }) => trouble.kind));
  expect([...kinds].toSorted()).toEqual([
    'clock',
    'cut',
    'few descriptors',
    'freeze',
    'full disk',
    'kill',
    'silent',
    'slow',
    'stop',
    'terminate',
  ]);
  const texts = plan.map(describeFault).join('\n');
  for (const role of ['api-1', 'api-2', 'worker-1', 'worker-2', 'PostgreSQL', 'Temporal'])
    for (const what of [`kill -9 of ${role}`, `orderly stop of ${role}`, `${role} frozen`])
      expect(texts).toContain(what);
  const overlapping = plan.filter(({ atMs, forMs }, n) => atMs + forMs > (plan[n + 1]?.atMs ?? Infinity));
  expect(overlapping.length).toBeGreaterThan(plan.length / 10);
});

test('seeded numbers are spread from 0 to 1', () => {
  const random = randomFrom(3);
  const numbers = Array.from({ length: 1_000 }, random);
  expect(Math.min(...numbers)).toBeLessThan(0.01);
  expect(Math.max(...numbers)).toBeGreaterThan(0.99);
  expect(Math.max(...numbers)).toBeLessThan(1);
});

let link: Link;
const echo = createServer((socket) => void socket.on('error', () => {}).pipe(socket));
beforeAll(async () => {
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  link = await startLink(() => ({ host: '127.0.0.1', port: (echo.address() as AddressInfo).port }));
});
afterAll(async () => {
  await link.close();
  echo.close();
});

async function connected(): Promise<Socket> {
  const socket = connect(link.port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** `once` would reject because of the reset. */
const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => socket.once('close', () => resolve()));

test('a silent link delivers nothing until it is open again, and then all of it in order', async () => {
  const socket = await connected();
  let text = '';
  socket.on('data', (chunk) => (text += String(chunk)));
  socket.write('a');
  await once(socket, 'data');
  link.set({ kind: 'silent' });
  socket.write('b');
  // Another connection shows that time has passed on the open side.
  const other = await connected();
  other.write('x');
  expect(text).toBe('a');
  link.set({ kind: 'slow', delayMs: 5 });
  socket.write('c');
  while (text !== 'abc') await once(socket, 'data');
  link.set({ kind: 'open' });
  socket.destroy();
  other.destroy();
});

test('a cut link resets its connections and takes no new ones', async () => {
  const socket = await connected();
  socket.write('a');
  await once(socket, 'data');
  link.set({ kind: 'cut' });
  await closed(socket);
  const refused = connect(link.port, '127.0.0.1').on('error', () => {});
  await closed(refused);
  link.set({ kind: 'open' });
  const again = await connected();
  again.write('b');
  expect(String((await once(again, 'data'))[0])).toBe('b');
  again.destroy();
});
