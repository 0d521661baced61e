/** Lets branches wait until fewer events are unwritten. */
import { CancellationScope, condition } from '@temporalio/workflow';

export interface RoomPort {
  /** Writes a batch of events. */
  flush(): Promise<void>;
  /** Nothing can be written any more; all waiters continue and notice it. */
  closed(): boolean;
}

export class Room {
  readonly #port: RoomPort;
  /**
   * How many waiters continue after each batch. If a thousand branches woke, most would have to wait again.
   */
  readonly #turn: number;
  readonly #waiting: (() => void)[] = [];
  #making = false;

  constructor(port: RoomPort, turn: number) {
    this.#port = port;
    this.#turn = turn;
  }

  /** Waits for at least one batch. Others may have taken the room meanwhile, so callers check again. */
  wait(): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      if (this.#making) return;
      this.#making = true;
      // Cancelling the caller must not stop making room for the others.
      void CancellationScope.nonCancellable(() => this.#make());
    });
  }

  async #make(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (!this.#port.closed()) await this.#port.flush();
      for (const goOn of this.#waiting.splice(0, this.#port.closed() ? this.#waiting.length : this.#turn))
        goOn();
      await othersGoOn();
    }
    this.#making = false;
  }
}

/**
 * Waits until everything that this activation has woken is blocked again, because it may carry events that
 * would otherwise need their own activity.
 */
export async function othersGoOn(): Promise<void> {
  // A condition is checked when it is created, and again once nothing else can continue.
  let checkedOnce = false;
  await condition(() => {
    const before = checkedOnce;
    checkedOnce = true;
    return before;
  });
}
