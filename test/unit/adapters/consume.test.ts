import { expect, test } from '@jest/globals';
import { consume, type Consumption } from '../../../adapters/asyncapi/consume.ts';
import { MAX_RECEIVED_BYTES, MessageQueue } from '../../../adapters/asyncapi/message-queue.ts';
import { threadClock } from '../../support/machine.ts';

const policy = (more: Partial<Consumption>): Consumption => ({
  filter: null,
  amount: null,
  while: null,
  until: null,
  forMs: null,
  correlation: null,
  signal: new AbortController().signal,
  ...more,
});

test('costly conditions leave the process to others between messages', async () => {
  const queue = new MessageQueue();
  for (let n = 0; n < 30; n++) queue.push({ payload: Buffer.from(String(n)), headers: {} });
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const filter = (): boolean => {
    for (const clock = threadClock(); clock() < 15;);
    return true;
  };
  const messages = await consume(queue, policy({ filter, amount: 30 }));
  isOver = true;
  expect(messages.map(({ payload }) => payload)).toEqual(Array.from({ length: 30 }, (_, n) => n));
  expect(turns).toBeGreaterThan(29);
});

test('each message is settled once, and the call may say how much it looks at', async () => {
  const queue = new MessageQueue(MAX_RECEIVED_BYTES);
  const settled: [number, boolean][] = [];
  for (let n = 0; n < 6; n++)
    queue.push({
      payload: Buffer.from(String(n)),
      headers: {},
      settle: (taken) => void settled.push([n, taken]),
    });
  const filter = (message: unknown): boolean => (message as { payload: number }).payload % 2 === 0;
  await consume(queue, policy({ filter, amount: 2 }));
  expect(settled).toEqual([
    [0, true],
    [1, false],
    [2, true],
  ]);

  const bounded = new MessageQueue(1_000);
  const consuming = consume(bounded, policy({ filter: () => false, amount: 1 }));
  consuming.catch(() => undefined);
  for (let n = 0; n < 20; n++) {
    bounded.push({ payload: Buffer.alloc(100), headers: {} });
    await new Promise((resolve) => setImmediate(resolve));
  }
  await expect(consuming).rejects.toThrow('The subscription received more than 1000 bytes');
});
