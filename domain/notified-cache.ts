/** What this process has read from rows and keeps for a while, as long as it hears of their changes. */
export class NotifiedCache<Value> {
  readonly #isNotified: () => boolean;
  readonly #keptMs: number;
  readonly #most: number;
  readonly #kept = new Map<string, { value: Value; untilMs: number }>();
  #generation = 0;

  /**
   * `isNotified`: whether this process hears of changes; while it does not, nothing is kept. At most `most`
   * values are kept, each for `keptMs`, which does not jump when the clock is set.
   */
  constructor(options: { isNotified: () => boolean; keptMs: number; most: number }) {
    this.#isNotified = options.isNotified;
    this.#keptMs = options.keptMs;
    this.#most = options.most;
  }

  get(key: string): Value | undefined {
    const kept = this.#kept.get(key);
    return kept !== undefined && kept.untilMs > performance.now() && this.#isNotified()
      ? kept.value
      : undefined;
  }

  /** Called before rows are read. @returns a function that keeps what they say, unless they changed since */
  reading(): (key: string, value: Value) => void {
    const generation = this.#generation;
    return (key, value) => {
      if (generation !== this.#generation || !this.#isNotified()) return;
      if (this.#kept.size >= this.#most) this.#kept.clear();
      this.#kept.set(key, { value, untilMs: performance.now() + this.#keptMs });
    };
  }

  /** Whenever a row may have changed. */
  clear(): void {
    this.#generation++;
    this.#kept.clear();
  }
}
