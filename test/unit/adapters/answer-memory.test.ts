import { expect, test } from '@jest/globals';
import {
  createAnswerMemory,
  holdsLargeAnswer,
  reserveAnswer,
} from '../../../adapters/egress/answer-memory.ts';

const never = new AbortController().signal;
const turns = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await Promise.resolve();
};

/** An activity that reads an answer and then works until it is told to end. */
function activity(memory: ReturnType<typeof createAnswerMemory>, bytes: number, signal = never) {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const state = { admitted: false };
  const done = memory.share(async () => {
    await reserveAnswer(bytes, signal);
    state.admitted = true;
    await ended;
  });
  return { state, end, done };
}

test('answers that exceed the limit wait in order until earlier ones are released', async () => {
  const memory = createAnswerMemory(100);
  const [first, second, third] = [activity(memory, 60), activity(memory, 60), activity(memory, 10)];
  await turns();
  expect([first.state.admitted, second.state.admitted, third.state.admitted]).toEqual([true, false, false]);
  first.end();
  await first.done;
  await turns();
  expect([second.state.admitted, third.state.admitted, memory.usedBytes]).toEqual([true, true, 70]);
  second.end();
  third.end();
  await Promise.all([second.done, third.done]);
  expect(memory.usedBytes).toBe(0);
});

test('an answer larger than the limit is admitted alone, and its call may read a second one', async () => {
  const memory = createAnswerMemory(100);
  await memory.share(async () => {
    await reserveAnswer(1_000, never);
    await reserveAnswer(50, never);
    expect([memory.usedBytes, holdsLargeAnswer()]).toEqual([150, true]);
  });
  expect([memory.usedBytes, holdsLargeAnswer()]).toEqual([0, false]);
});

test('a call that is cancelled while it waits gives up its place', async () => {
  const memory = createAnswerMemory(100);
  const first = activity(memory, 80);
  const cancelled = new AbortController();
  const second = activity(memory, 80, cancelled.signal);
  const third = activity(memory, 20);
  await turns();
  expect(third.state.admitted).toBe(false);
  cancelled.abort(new Error('cancelled'));
  await expect(second.done).rejects.toThrow('cancelled');
  await turns();
  expect([third.state.admitted, memory.usedBytes]).toEqual([true, 100]);
  first.end();
  third.end();
  await Promise.all([first.done, third.done]);
  expect(memory.usedBytes).toBe(0);
});

test('nothing waits outside an activity', async () => {
  await reserveAnswer(1e12, never);
  expect(holdsLargeAnswer()).toBe(false);
});
