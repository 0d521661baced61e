/**
 * Slots for a worker's tasks, granted by what its process holds and not only by their number: Temporal's SDK
 * decodes all inputs of a task before any code of ours runs, so before its slot is the last place where a
 * large one can wait without its timeouts passing (docs/adr/0022).
 */
import type { CustomSlotSupplier, SlotInfo, SlotPermit, SlotReserveContext } from '@temporalio/worker';
import { halfOfMemoryMib } from '../config/memory.ts';

export interface SlotOptions {
  /** Of each queue; granted regardless of memory, so the worker always makes progress. */
  minimum: number;
  maximum: number;
  /** Beyond the minimum, one more slot every `rampMs`, even if no task ends; null: none. */
  rampMs: number | null;
  memory: MemoryGauge;
  /** Tasks that hold a slot and wait: as many more are granted. */
  idle?: { readonly count: number; onBegin: (() => void) | null };
  /** While it is true no slot is granted at all. */
  isPaused?: () => boolean;
  /** Milliseconds; for tests. */
  clock?: () => number;
}

/** What the process holds, as a part of what it may: from 1 on only the minimum is granted. */
export type MemoryGauge = () => number;

const MIB = 1024 * 1024;
/** Measuring takes 20 µs, so a result is reused for this long. */
const MEASURE_MS = 10;
const RECHECK_MS = 100;
const RECENT_MS = 250;
const AMPLE = 0.5;
/** The ramp beyond half of the memory: what a task holds shows only after a while. */
const STEEP = 5;

interface Permit extends SlotPermit {
  sticky: boolean;
  /** Reserved for a task that starts at once. */
  eager?: true;
}

interface Waiting extends Permit {
  grant(): void;
}

/**
 * Beyond the minimum there is a slot for each task that ended within the last quarter of a second. Small
 * tasks therefore reach the maximum at once, while large ones stay few, even before memory shows them.
 * `rampMs` adds slots for tasks that mostly wait, such as calls.
 */
export function createMemorySlots<I extends SlotInfo>(options: SlotOptions): CustomSlotSupplier<I> {
  const slots = new MemorySlots(options);
  return {
    type: 'custom',
    reserveSlot: ({ isSticky: sticky }, signal) => slots.reserve({ sticky }, signal),
    tryReserveSlot: ({ isSticky: sticky }: SlotReserveContext) => slots.tryReserve({ sticky }),
    // The assertions hold: all permits are issued here.
    markSlotUsed: ({ permit }) => slots.use(permit as Permit),
    // A poll that brought no task says nothing.
    releaseSlot: ({ permit, slotInfo }) => slots.release(permit as Permit, slotInfo !== undefined),
  };
}

class MemorySlots {
  readonly #options: SlotOptions;
  readonly #clock: () => number;
  readonly #queue: Waiting[] = [];
  /** When tasks have ended, oldest first. */
  readonly #ended: number[] = [];
  readonly #issued = { sticky: 0, other: 0 };
  /** Slots that have a task, or are reserved for one; polls hold the others. */
  #used = 0;
  #grantedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SlotOptions) {
    this.#options = options;
    this.#clock = options.clock ?? (() => performance.now());
    if (options.idle) options.idle.onBegin = () => this.#admit();
  }

  reserve({ sticky }: Permit, signal: AbortSignal): Promise<Permit> {
    return new Promise<Permit>((resolve, reject) => {
      const abandon = (): void => {
        this.#queue.splice(this.#queue.indexOf(waiting), 1);
        reject(signal.reason as Error);
      };
      const waiting: Waiting = {
        sticky,
        grant: () => {
          signal.removeEventListener('abort', abandon);
          resolve(this.#issue(waiting));
        },
      };
      if (signal.aborted) return reject(signal.reason as Error);
      signal.addEventListener('abort', abandon, { once: true });
      this.#queue.push(waiting);
      this.#admit();
    });
  }

  /**
   * For a task that starts at once, with the end of another: it comes too fast for the ramp. While there is
   * much memory left, polls that wait for tasks do not count, because they hold all slots of an idle worker.
   */
  tryReserve(wanted: Permit): Permit | null {
    const isFree = this.#waitMs(wanted, null) === 0 || this.#isIdle();
    if (!isFree) return null;
    this.#used++;
    return { ...this.#issue(wanted), eager: true };
  }

  use({ eager }: Permit): void {
    if (!eager) this.#used++;
  }

  release({ sticky, eager }: Permit, hadTask: boolean): void {
    this.#issued[sticky ? 'sticky' : 'other']--;
    if (hadTask || eager) this.#used--;
    if (hadTask) this.#ended.push(this.#clock());
    if (this.#ended.length > this.#options.maximum) this.#ended.shift();
    this.#admit();
  }

  /** Grants slots to those who wait, as far as there are any, and looks again when there may be more. */
  #admit(): void {
    clearTimeout(this.#timer);
    let soonestMs = Number.POSITIVE_INFINITY;
    const left = this.#queue.splice(0).filter((waiting) => {
      const ms = this.#waitMs(waiting);
      if (ms === 0) waiting.grant();
      soonestMs = Math.min(soonestMs, ms || soonestMs);
      return ms > 0;
    });
    this.#queue.push(...left);
    if (Number.isFinite(soonestMs)) this.#timer = setTimeout(() => this.#admit(), soonestMs).unref();
  }

  #isIdle(): boolean {
    const { minimum, maximum, memory, isPaused } = this.#options;
    if (isPaused?.() === true || this.#used >= minimum) return false;
    return this.#issued.sticky + this.#issued.other < maximum && memory() < AMPLE;
  }

  /** Milliseconds until there may be a slot, 0 if there is one now; infinite: when one is released. */
  #waitMs({ sticky }: Permit, rampMs = this.#options.rampMs): number {
    const { memory, idle, isPaused } = this.#options;
    if (isPaused?.() === true) return RECHECK_MS;
    const [minimum, maximum] = [this.#options.minimum, this.#options.maximum].map(
      (count) => count + (idle?.count ?? 0),
    ) as [number, number];
    // Workflow tasks come from two queues, new and cached runs: one alone would starve the other.
    const ofQueue = sticky ? this.#issued.sticky : this.#issued.other;
    if (ofQueue < minimum) return 0;
    if (this.#issued.sticky + this.#issued.other >= maximum) return Number.POSITIVE_INFINITY;
    const held = memory();
    if (held >= 1) return RECHECK_MS;
    const now = this.#clock();
    while (this.#ended.length > 0 && Number(this.#ended[0]) <= now - RECENT_MS) this.#ended.shift();
    if (ofQueue < minimum + this.#ended.length) return 0;
    if (rampMs === null) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#grantedAt + rampMs * (held < AMPLE ? 1 : STEEP) - now);
  }

  #issue({ sticky }: Permit): Permit {
    this.#issued[sticky ? 'sticky' : 'other']++;
    this.#grantedAt = this.#clock();
    return { sticky };
  }
}

/** Of a worker. @param memoryMib default: half of the machine's memory, at most 2 GiB */
export function workerMemory(memoryMib = Math.min(halfOfMemoryMib(), 2_048)): MemoryGauge {
  return createMemoryGauge(memoryMib * MIB);
}

/** The resident memory of the process: heaps of all its threads, buffers, the SDK's own. */
export function createMemoryGauge(maxBytes: number): MemoryGauge {
  let [part, measuredAt] = [0, Number.NEGATIVE_INFINITY];
  return () => {
    if (performance.now() - measuredAt >= MEASURE_MS) {
      part = process.memoryUsage.rss() / maxBytes;
      measuredAt = performance.now();
    }
    return part;
  };
}
