import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { clockRecorded, mayReadStart, readClock } from '../../../workflows/interpreter/clock.ts';
import { ShortCalls } from '../../../workflows/interpreter/short-calls.ts';

const rules = { version: 1, timeout_ms: 5_000 } as const;
const lane = (more: Partial<ConstructorParameters<typeof ShortCalls>[0]> = {}) =>
  new ShortCalls({ rules, definition: { do: [] }, agents: [], ...more });

beforeEach(() => {
  jest.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  clockRecorded();
  jest.useRealTimers();
});

describe('a call may be short', () => {
  test('only in a run that was started with the rules', () => {
    expect(lane().mayBegin(undefined)).toBe(true);
    expect(lane({ rules: undefined }).mayBegin(undefined)).toBe(false);
    expect(lane({ rules: undefined }).fits(1)).toBe(false);
  });

  test('up to the longest timeout', () => {
    expect([0, 1, 5_000, 5_001].map((ms) => lane().fits(ms))).toEqual([false, true, true, false]);
  });

  test('with any timeout if it is handed over once it takes long', () => {
    for (const version of [2, 3] as const) {
      const calls = lane({ rules: { version, hand_over_ms: 500 } });
      expect([0, 1, 5_001, 24 * 3_600_000].map((ms) => calls.fits(ms))).toEqual([false, true, true, true]);
      expect(calls.handOverMs).toBe(500);
    }
    expect(lane().handOverMs).toBeUndefined();
  });

  test('of a pinned agent that is known to be short, in that version only', () => {
    const known = lane({ agents: [{ agent: 'a' }, { agent: 'b', version: '1.0.0' }] });
    expect(known.knows('a', undefined)).toBe(true);
    expect(known.knows('a', '1.0.0')).toBe(false);
    expect(known.knows('b', '1.0.0')).toBe(true);
    expect(known.knows('b', undefined)).toBe(false);
    expect(known.knows('${ .agent }', undefined)).toBe(false);
    expect(known.knows({}, undefined)).toBe(false);
  });

  test('for 250 ms of workflow time, until a point is recorded', () => {
    const calls = lane();
    calls.began();
    jest.advanceTimersByTime(249);
    expect(calls.mayBegin(undefined)).toBe(true);
    calls.began();
    jest.advanceTimersByTime(1);
    expect(calls.mayBegin(undefined)).toBe(false);
    calls.recorded();
    expect(calls.mayBegin(undefined)).toBe(true);
  });

  test('by the times that the history has of the calls, whatever the clock says', () => {
    const calls = lane({ rules: { version: 3, hand_over_ms: 500 } });
    calls.began();
    jest.advanceTimersByTime(20_000);
    calls.took(249);
    expect(calls.mayBegin(Date.now())).toBe(true);
    calls.took(1);
    expect(calls.mayBegin(undefined)).toBe(false);
    calls.recorded();
    expect(calls.mayBegin(undefined)).toBe(true);
    // Nothing is known of a failed one.
    calls.took(undefined);
    expect(calls.mayBegin(undefined)).toBe(false);
  });

  test('not within attempts that are repeated for a limited time, from version 3 on', async () => {
    const calls = lane({ rules: { version: 3, hand_over_ms: 500 } });
    expect(await calls.withinLimit(async () => calls.mayBegin(undefined))).toBe(false);
    const before = lane({ rules: { version: 2, hand_over_ms: 500 } });
    expect(await before.withinLimit(async () => before.mayBegin(undefined))).toBe(true);
  });

  test('not after the run has read the time, until a point is recorded', () => {
    const calls = lane();
    readClock();
    expect(calls.mayBegin(undefined)).toBe(false);
    calls.recorded();
    expect(calls.mayBegin(undefined)).toBe(true);
  });

  test('not within a timeout, nor shortly before that of the workflow', async () => {
    const calls = lane();
    const within = calls.withDeadline(async () => calls.mayBegin(undefined));
    expect(await within).toBe(false);
    await expect(calls.withDeadline(() => Promise.reject(new Error('late')))).rejects.toThrow('late');
    expect(calls.mayBegin(undefined)).toBe(true);
    expect(calls.mayBegin(Date.now() + 10_000)).toBe(true);
    expect(calls.mayBegin(Date.now() + 9_999)).toBe(false);
  });
});

test('all calls of one workflow task have the time at which it was started', () => {
  const calls = lane();
  expect(calls.taskStartedMs(3)).toBe(1_000_000);
  jest.advanceTimersByTime(40);
  expect([calls.taskStartedMs(3), calls.taskStartedMs(8)]).toEqual([1_000_000, 1_000_040]);
});

test.each([
  ['${ $task.startedAt.epoch.seconds }', true],
  ['$workflow | .startedAt', true],
  ['${ $workflow }', true],
  ['${ $task["startedAt"] }', true],
  ['${ $workflow.id + $task.name + $task.reference }', false],
  ['${ $workflow.input.n + $task.input.n }', false],
  ['${ $workflows + $tasks }', false],
  ['.startedAt', false],
])('whether %s may read a time of start: %s', (expression, may) => {
  expect(mayReadStart({ do: [{ a: { set: { x: expression } } }] })).toBe(may);
});
