import type { Context } from '@temporalio/activity';
import { expect, jest, test } from '@jest/globals';
import {
  createHandedOverCalls,
  currentHandOver,
  MAX_HANDED_OVER,
} from '../../../activities/handed-over-calls.ts';
import type { Invoked } from '../../../contracts/activities.ts';
import { invocationKey } from '../../../contracts/invocation-key.ts';

const RESULT: Invoked = { output: 'done' };
/** A short call says how long it took. */
const TIMED = { ...RESULT, took_ms: expect.any(Number) };

function open() {
  const calls = createHandedOverCalls('queue');
  calls.isOpen = true;
  return calls;
}

const inTask = { workflow_task: { started_ms: 0, replayed: false } };

const input = (visit = 1) => ({
  run_id: 'run',
  task: '/do/0/a',
  name: 'a',
  visit,
  attempt: 1,
  short: { ...inTask, hand_over_ms: 10 },
});
const keyOf = (visit = 1): string => invocationKey('run', input(visit));

/** A call of a counterpart that answers when told. */
function startCall(onHandOver: () => void = () => {}) {
  let answer = (_result: Invoked): void => {};
  const answered = new Promise<Invoked>((resolve) => (answer = resolve));
  const seen: { signal?: AbortSignal; context?: () => Context | null } = {};
  const work = async (): Promise<Invoked> => {
    const handOver = currentHandOver();
    if (!handOver) throw new Error('not a call that may be handed over');
    seen.signal = handOver.signal;
    seen.context = () => handOver.context;
    handOver.begin(onHandOver);
    try {
      return await answered;
    } finally {
      handOver.end();
    }
  };
  return { work, answer: () => answer(RESULT), seen };
}

function contextOf(signal = new AbortController().signal): Context {
  // Only this of an activity's context is read.
  return { cancellationSignal: signal } as Context;
}

const handedOver = { type: 'HandedOver', nonRetryable: true };

test('a call that ends in time is not handed over', async () => {
  const calls = open();
  const { work, answer } = startCall();
  answer();
  expect(await calls.run(input(), work)).toEqual(TIMED);
  await expect(calls.follow(keyOf(), contextOf())).rejects.toMatchObject({ type: 'CallGone' });
});

test('a longer one names the queue on which it is followed to its end', async () => {
  const calls = open();
  const onHandOver = jest.fn();
  const { work, answer, seen } = startCall(onHandOver);
  await expect(calls.run(input(), work)).rejects.toMatchObject({ ...handedOver, details: [calls.queue] });
  expect(calls.queue).toMatch(/^queue:/);
  expect(onHandOver).toHaveBeenCalledTimes(1);
  const context = contextOf();
  const followed = calls.follow(keyOf(), context);
  expect(seen.context?.()).toBe(context);
  answer();
  expect(await followed).toEqual(RESULT);
  await expect(calls.follow(keyOf(), context)).rejects.toMatchObject({ type: 'CallGone' });
});

test('one that has ended before it is followed keeps its outcome', async () => {
  const calls = open();
  const { work, answer } = startCall();
  await expect(calls.run(input(), work)).rejects.toMatchObject(handedOver);
  answer();
  expect(await calls.follow(keyOf(), contextOf())).toEqual(RESULT);
});

test('the activity that follows a call can cancel it', async () => {
  const calls = open();
  const { work, answer, seen } = startCall();
  await expect(calls.run(input(), work)).rejects.toMatchObject(handedOver);
  const cancelling = new AbortController();
  const followed = calls.follow(keyOf(), contextOf(cancelling.signal));
  expect(seen.signal?.aborted).toBe(false);
  cancelling.abort();
  expect(seen.signal?.aborted).toBe(true);
  answer();
  await followed;
});

test('a call is not handed over while nobody takes activities of its queue', async () => {
  const calls = open();
  calls.isOpen = false;
  const { work, answer } = startCall();
  const run = calls.run(input(), work);
  await new Promise((resolve) => setTimeout(resolve, 30));
  answer();
  expect(await run).toEqual(TIMED);
});

test('without a queue, or without its rule, a call just runs', async () => {
  const work = async (): Promise<Invoked> => {
    expect(currentHandOver()).toBeUndefined();
    return RESULT;
  };
  expect(await createHandedOverCalls(null).run(input(), work)).toEqual(TIMED);
  expect(await open().run({ ...input(), short: inTask }, work)).toEqual(TIMED);
});

test('the number of handed-over calls is bounded', async () => {
  const calls = open();
  const begun = Array.from({ length: MAX_HANDED_OVER }, () => startCall());
  await Promise.all(
    begun.map(({ work }, i) => expect(calls.run(input(i + 1), work)).rejects.toMatchObject(handedOver)),
  );
  expect(calls.isFull).toBe(true);
  const { work, answer } = startCall();
  const run = calls.run(input(MAX_HANDED_OVER + 1), work);
  await new Promise((resolve) => setTimeout(resolve, 30));
  answer();
  expect(await run).toEqual(TIMED);
  begun[0]?.answer();
  await calls.follow(keyOf(1), contextOf());
  expect(calls.isFull).toBe(false);
});
