/** A map of bounded size that forgets what was not used for longest. */
export class Cache<V> {
  readonly #entries = new Map<string, { value: V; size: number }>();
  readonly #capacity: number;
  readonly #maxSize: number;
  #size = 0;

  /** `maxSize`: of all values together, in the unit of `set`. */
  constructor(capacity: number, maxSize: number) {
    this.#capacity = capacity;
    this.#maxSize = maxSize;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** A value that is larger than all may be together is not kept. */
  set(key: string, value: V, size: number): void {
    this.#forget(key);
    if (size > this.#maxSize) return;
    this.#entries.set(key, { value, size });
    this.#size += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#capacity && this.#size <= this.#maxSize) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#size -= this.#entries.get(key)?.size ?? 0;
    this.#entries.delete(key);
  }
}
