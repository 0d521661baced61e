/** Limits how much of one kind a run has in flight; the rest waits its turn. */
import { CancellationScope } from '@temporalio/workflow';
import { throwIfCancelled } from './cancellation.ts';
import type { Strand } from './strand.ts';

interface Waiter {
  bytes: number;
  admit(): void;
  refuse(error: Error): void;
}

/**
 * Admits up to `count` at once with up to `bytes` together, and one of any size if nothing else is in flight.
 * Waiters are admitted in turns between the branches of the outermost fork, so a branch with a thousand calls
 * does not starve a branch with one.
 */
export class Lane {
  readonly #limits: { count: number; bytes: number };
  /** False: nothing more is admitted in this execution. */
  readonly #open: () => boolean;
  readonly #waiting = new Map<Strand, Waiter[]>();
  #count = 0;
  #bytes = 0;

  constructor(limits: { count: number; bytes: number }, open: () => boolean = () => true) {
    this.#limits = limits;
    this.#open = open;
  }

  get inFlight(): number {
    return this.#count;
  }

  /** Returns undefined if there is room at once. Each admission ends with `leave` and the same bytes. */
  enter(strand: Strand, bytes: number): Promise<void> | undefined {
    if (this.#waiting.size > 0 || !this.#hasRoom(bytes)) return this.#wait(strand, bytes);
    this.#take(bytes);
    return undefined;
  }

  leave(bytes: number): void {
    this.#count--;
    this.#bytes -= bytes;
    this.#admitNext();
  }

  /** Rejects all waiters with the error. */
  refuseAll(error: Error): void {
    const waiters = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const waiter of waiters) waiter.refuse(error);
  }

  /** @throws CancelledFailure when the caller's scope is cancelled while it waits */
  #wait(strand: Strand, bytes: number): Promise<void> {
    throwIfCancelled();
    const scope = CancellationScope.current();
    const branch = strand.outermost;
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        bytes,
        admit: () => {
          this.#take(bytes);
          resolve();
        },
        refuse: reject,
      };
      scope.cancelRequested.catch((error: unknown) => {
        if (!scope.consideredCancelled || !this.#remove(branch, waiter)) return;
        reject(error);
        this.#admitNext();
      });
      const queue = this.#waiting.get(branch);
      if (queue) queue.push(waiter);
      else this.#waiting.set(branch, [waiter]);
    });
  }

  #hasRoom(bytes: number): boolean {
    if (!this.#open()) return false;
    return (
      this.#count === 0 || (this.#count < this.#limits.count && this.#bytes + bytes <= this.#limits.bytes)
    );
  }

  #take(bytes: number): void {
    this.#count++;
    this.#bytes += bytes;
  }

  #admitNext(): void {
    for (;;) {
      const [first] = this.#waiting;
      if (!first) return;
      const [branch, [waiter]] = first;
      if (!waiter || !this.#hasRoom(waiter.bytes)) return;
      this.#remove(branch, waiter);
      waiter.admit();
    }
  }

  /** The branch's next waiter queues behind all other branches. */
  #remove(branch: Strand, waiter: Waiter): boolean {
    const queue = this.#waiting.get(branch);
    if (!queue?.includes(waiter)) return false;
    const rest = queue.filter((other) => other !== waiter);
    this.#waiting.delete(branch);
    if (rest.length > 0) this.#waiting.set(branch, rest);
    return true;
  }
}
