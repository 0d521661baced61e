import { describe, expect, test } from '@jest/globals';
import type { SlotPermit, SlotReserveContext, WorkflowSlotInfo } from '@temporalio/worker';
import { createMemoryGauge, createMemorySlots, type SlotOptions } from '../../../worker/memory-slots.ts';

const never = new AbortController().signal;
const slotInfo: WorkflowSlotInfo = { type: 'workflow', workflowType: 'run', isSticky: true };
const context = (isSticky = true): SlotReserveContext => ({
  slotType: 'workflow',
  taskQueue: 'cadenza',
  workerIdentity: 'test',
  workerBuildId: '',
  isSticky,
});
const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits for real timers of the supplier; its own clock is the test's. */
async function granting(granted: SlotPermit[], count: number): Promise<void> {
  for (const deadline = Date.now() + 60_000; granted.length < count && Date.now() < deadline;) await later(5);
  expect(granted).toHaveLength(count);
}

/** Slots whose clock and memory the test moves. */
function slots(options: Partial<SlotOptions> = {}) {
  const state = { now: 0, held: 0.1 };
  const supplier = createMemorySlots<WorkflowSlotInfo>({
    minimum: 2,
    maximum: 6,
    rampMs: null,
    memory: () => state.held,
    clock: () => state.now,
    ...options,
  });
  const granted: SlotPermit[] = [];
  const ask = (count: number, isSticky = true): void => {
    for (let n = 0; n < count; n++)
      void supplier.reserveSlot(context(isSticky), never).then((permit) => granted.push(permit));
  };
  const end = async (count: number): Promise<void> => {
    for (const permit of granted.splice(0, count)) supplier.releaseSlot({ permit, slotInfo });
    await later(0);
  };
  return { supplier, state, granted, ask, end };
}

describe('slots by memory', () => {
  test('none is granted while writes are paused, and those who wait get theirs afterwards', async () => {
    let isPaused = true;
    const { supplier, granted, ask } = slots({ isPaused: () => isPaused });
    ask(2);
    expect(supplier.tryReserveSlot(context())).toBeNull();
    await later(0);
    expect(granted).toHaveLength(0);
    isPaused = false;
    await granting(granted, 2);
  });

  test('the minimum of slots is available, however much memory the process uses', async () => {
    const { state, granted, ask, end } = slots();
    state.held = 3;
    ask(4);
    await later(0);
    expect(granted).toHaveLength(2);
    await end(1);
    expect(granted).toHaveLength(2);
  });

  test('polls that wait do not keep a task of an idle worker from starting at once', async () => {
    const { supplier, state, granted, ask, end } = slots();
    ask(2);
    await later(0);
    // Both slots are those of polls.
    const [one, two, three] = [1, 2, 3].map(() => supplier.tryReserveSlot(context()));
    expect([one, two, three]).toEqual([expect.anything(), expect.anything(), null]);
    // Of one comes a task, and the other is not needed; a poll brings another task.
    supplier.markSlotUsed({ permit: one ?? {}, slotInfo });
    supplier.releaseSlot({ permit: two ?? {} });
    supplier.markSlotUsed({ permit: granted[0] ?? {}, slotInfo });
    expect(supplier.tryReserveSlot(context())).toBeNull();
    await end(1);
    state.now += 2_000;
    state.held = 0.6;
    expect(supplier.tryReserveSlot(context())).toBeNull();
    state.held = 0.1;
    expect(supplier.tryReserveSlot(context())).not.toBeNull();
  });

  test('each task that has just ended adds one, up to the maximum', async () => {
    const { state, granted, ask, end } = slots();
    ask(20);
    await later(0);
    expect(granted).toHaveLength(2);
    await end(1);
    expect(granted).toHaveLength(3);
    await end(3);
    expect(granted).toHaveLength(6);
    await end(6);
    expect(granted).toHaveLength(6);
    state.now += 2_000;
    await end(1);
    expect(granted).toHaveLength(5);
  });

  test('beyond the bound nothing is added, and below it again at once', async () => {
    const { state, granted, ask, end } = slots();
    ask(20);
    await later(0);
    state.held = 1;
    await end(2);
    expect(granted).toHaveLength(2);
    state.held = 0.9;
    await granting(granted, 4);
  });

  test('polls that bring no task add nothing', async () => {
    const { supplier, granted, ask } = slots();
    ask(4);
    await later(0);
    for (const permit of granted.splice(0)) supplier.releaseSlot({ permit });
    await later(0);
    expect(granted).toHaveLength(2);
  });

  test('the ramp adds slots while no task ends, slower beyond half of the memory', async () => {
    const { state, granted, ask } = slots({ rampMs: 10 });
    ask(20);
    await later(0);
    expect(granted).toHaveLength(2);
    state.now = 10;
    await granting(granted, 3);
    state.held = 0.6;
    state.now = 20;
    await later(60);
    expect(granted).toHaveLength(3);
    state.now = 60;
    await granting(granted, 4);
  });

  test('neither queue of workflow tasks starves the other', async () => {
    const { state, granted, ask } = slots();
    state.held = 2;
    ask(5);
    await later(0);
    ask(5, false);
    await later(0);
    expect(granted).toHaveLength(4);
  });

  test('a reservation that is given up rejects with its reason and leaves its place', async () => {
    const { supplier, granted, ask, end } = slots();
    ask(2);
    await later(0);
    const gone = AbortSignal.abort();
    await expect(supplier.reserveSlot(context(), gone)).rejects.toBe(gone.reason);
    const controller = new AbortController();
    const waiting = supplier.reserveSlot(context(), controller.signal);
    ask(1);
    controller.abort();
    await expect(waiting).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
    await end(1);
    expect(granted).toHaveLength(2);
  });

  test('without waiting there is a permit or null', async () => {
    const { supplier } = slots();
    const permits = [1, 2, 3].map(() => supplier.tryReserveSlot(context()));
    expect(permits.map((permit) => permit !== null)).toEqual([true, true, false]);
    supplier.releaseSlot({ permit: permits[0] ?? {} });
    expect(supplier.tryReserveSlot(context())).not.toBeNull();
  });

  test('a task that starts at once does not climb the ramp', () => {
    const { supplier, state } = slots({ rampMs: 5 });
    const permits = [1, 2, 3].map(() => {
      state.now += 1_000;
      return supplier.tryReserveSlot(context());
    });
    expect(permits.map((permit) => permit !== null)).toEqual([true, true, false]);
  });
});

test('the gauge measures this process', () => {
  const part = createMemoryGauge(process.memoryUsage.rss() * 2)();
  expect(part).toBeGreaterThan(0.3);
  expect(part).toBeLessThan(0.7);
});
