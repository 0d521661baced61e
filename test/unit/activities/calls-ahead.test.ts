import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { CallsAhead, type CallAhead } from '../../../activities/calls-ahead.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const begun = (more: Partial<CallAhead> = {}): CallAhead => ({
  digest: 'd',
  aheadMs: 1,
  beganAt: 0,
  begun: Promise.reject(new Error('nobody has to catch this')),
  ...more,
});

test('a call is taken once, by the activity that has its input and workflow task', () => {
  const calls = new CallsAhead();
  const call = begun();
  calls.add('a', call);
  expect([calls.take('b', 'd', 1), calls.take('a', 'd', 1), calls.take('a', 'd', 1)]).toEqual([
    null,
    call,
    null,
  ]);
  for (const [digest, aheadMs] of [
    ['other', 1],
    ['d', 2],
  ] as const) {
    calls.add('a', begun());
    expect(calls.take('a', digest, aheadMs)).toBeNull();
  }
});

test('a call that nobody takes is dropped after 10 s, and a later one of its key is not', () => {
  const calls = new CallsAhead();
  calls.add('a', begun());
  jest.advanceTimersByTime(9_000);
  const later = begun({ aheadMs: 2 });
  calls.add('a', later);
  jest.advanceTimersByTime(9_999);
  expect(calls.take('a', 'd', 2)).toBe(later);
  calls.add('a', begun());
  jest.advanceTimersByTime(10_000);
  expect(calls.take('a', 'd', 1)).toBeNull();
});

test('after eight that nobody took, none is begun for a minute', () => {
  const calls = new CallsAhead();
  const miss = (count: number): void => {
    for (let i = 0; i < count; i++) calls.add(`${i}`, begun());
    jest.advanceTimersByTime(10_000);
  };
  miss(7);
  calls.add('a', begun());
  calls.take('a', 'd', 1);
  miss(7);
  expect(calls.isOpen).toBe(true);
  miss(1);
  expect(calls.isOpen).toBe(false);
  jest.advanceTimersByTime(60_000);
  expect(calls.isOpen).toBe(true);
});

test('at most 200 wait', () => {
  const calls = new CallsAhead();
  for (let i = 0; i < 200; i++) calls.add(`${i}`, begun());
  expect(calls.isOpen).toBe(false);
  calls.take('0', 'd', 1);
  expect(calls.isOpen).toBe(true);
});
