/** Checking a value ends after so many steps: schemas, patterns and values come from users, and a check cannot be interrupted. */
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

  /** @throws LimitExceeded when the steps are used up. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new LimitExceeded();
  }
}

export class LimitExceeded extends Error {}
