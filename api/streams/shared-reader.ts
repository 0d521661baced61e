/**
 * One reader of a log for all streams of a process that follow it. It keeps the latest entries, and a stream
 * has only a position among them. A stream that is further behind (a client that reconnects or reads slowly)
 * reads what it missed by itself, at its own pace. So neither the number of streams nor their slowness costs
 * memory here.
 */
import type { Logger } from '../../config/logger.ts';

const KEPT_ENTRIES = 2_000;
const KEPT_CHARACTERS = 8 * 1024 * 1024;
const RETRY_MS = 1_000;

export interface Entry<Place> {
  place: Place;
  /** Approximate size in characters. */
  size: number;
}

export interface Reading<E, Place> {
  entries: E[];
  /** Position up to which the log has been read. */
  reached: Place;
  /** More entries may be available immediately. */
  more: boolean;
  /** The log has ended. */
  over: boolean;
}

export interface LogSource<E extends Entry<Place>, Place> {
  read(after: Place): Promise<Reading<E, Place>>;
  /** Resolves when there may be something new. */
  wait(): Promise<void>;
  /** Releases the source and ends a wait. */
  close(): void;
  isAfter(left: Place, right: Place): boolean;
}

export class SharedReader<E extends Entry<Place>, Place> {
  readonly #source: LogSource<E, Place>;
  readonly #logger: Logger;
  readonly #wakers = new Set<() => void>();
  #entries: E[] = [];
  #characters = 0;
  /** Kept entries start after this position. */
  #from: Place;
  #reached: Place;
  #over = false;
  #stopped = false;

  constructor(source: LogSource<E, Place>, start: Place, logger: Logger) {
    this.#source = source;
    this.#from = start;
    this.#reached = start;
    this.#logger = logger;
    void this.#run();
  }

  /** Entries after `place`, or null if some of them are no longer kept. */
  after(place: Place): Omit<Reading<E, Place>, 'more'> | null {
    if (this.#source.isAfter(this.#from, place)) return null;
    const entries = this.#entries.slice(this.#firstAfter(place));
    const reached = this.#source.isAfter(this.#reached, place) ? this.#reached : place;
    return { entries, reached, over: this.#over };
  }

  /**
   * Resolves when there are entries after `place`, the log has ended, `signal` is aborted, or `timeoutMs`
   * have passed.
   */
  async next(place: Place, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const last = this.#entries.at(-1);
    if (signal.aborted || this.#over || this.#stopped || (last && this.#source.isAfter(last.place, place)))
      return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#wakers.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#wakers.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  /** Lets streams that wait look for something else than entries. */
  nudge(): void {
    this.#wake();
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  stop(): void {
    this.#stopped = true;
    this.#source.close();
    this.#wake();
  }

  async #run(): Promise<void> {
    while (!this.#stopped && !this.#over) {
      try {
        const { entries, reached, more, over } = await this.#source.read(this.#reached);
        this.#keep(entries);
        this.#reached = reached;
        this.#over = over;
        if (entries.length > 0 || over) this.#wake();
        if (!more && !over) await this.#source.wait();
      } catch (error) {
        this.#logger.warn({ err: error }, 'cannot read events for streams, retrying');
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
      }
    }
    this.#source.close();
  }

  #keep(entries: readonly E[]): void {
    this.#entries.push(...entries);
    this.#characters += entries.reduce((sum, { size }) => sum + size, 0);
    let dropped = 0;
    while (
      this.#entries.length - dropped > KEPT_ENTRIES ||
      (this.#characters > KEPT_CHARACTERS && dropped < this.#entries.length)
    ) {
      this.#characters -= this.#entries[dropped]?.size ?? 0;
      dropped += 1;
    }
    const lastDropped = this.#entries[dropped - 1];
    if (!lastDropped) return;
    this.#from = lastDropped.place;
    this.#entries = this.#entries.slice(dropped);
  }

  /** Binary search, because every stream calls this after each page. */
  #firstAfter(place: Place): number {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const entry = this.#entries[middle];
      if (entry && this.#source.isAfter(entry.place, place)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #wake(): void {
    for (const waker of this.#wakers) waker();
  }
}

/** Readers shared by key: the first stream starts a reader, the last one stops it. */
export class SharedReaders<Reader extends { stop(): void }> {
  readonly #shared = new Map<string, { reader: Reader; streams: number }>();

  join(key: string, start: () => Reader): { reader: Reader; leave: () => void } {
    const shared = this.#shared.get(key) ?? { reader: start(), streams: 0 };
    this.#shared.set(key, shared);
    shared.streams += 1;
    return {
      reader: shared.reader,
      leave: () => {
        shared.streams -= 1;
        if (shared.streams > 0) return;
        shared.reader.stop();
        if (this.#shared.get(key) === shared) this.#shared.delete(key);
      },
    };
  }

  /** Stops all readers, which wakes their streams so that they can end. */
  stop(): void {
    for (const { reader } of this.#shared.values()) reader.stop();
  }

  /** Number of logs being read. */
  get size(): number {
    return this.#shared.size;
  }
}
