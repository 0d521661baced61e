/**
 * Limits the steps of checking a value. Users provide schemas, patterns and values, and a check cannot be
 * interrupted.
 */
export class Budget {
  readonly #steps: number;
  #left: number;

  constructor(steps: number) {
    this.#steps = steps;
    this.#left = steps;
  }

  get spent(): number {
    return this.#steps - this.#left;
  }

  /** @throws LimitExceeded when no steps are left */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new LimitExceeded();
  }
}

export class LimitExceeded extends Error {}
