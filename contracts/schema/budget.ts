/** Checking a value ends after so many steps: schemas, patterns and values come from users, and a check cannot be interrupted. */
export class Budget {
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  /** @throws LimitExceeded when the steps are used up. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new LimitExceeded();
  }
}

export class LimitExceeded extends Error {}
