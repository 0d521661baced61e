/** Names of people that this process has read within a second, so that not every answer reads them. */

interface Known {
  /** Null if there is no such person. */
  name: string | null;
  untilMs: number;
}

/** The longest that an answer has the name that a person had before, if no notification arrives. */
const KEPT_MS = 1_000;
const MAX_NAMES = 10_000;

export class KnownNames {
  readonly #isNotified: () => boolean;
  readonly #known = new Map<string, Known>();
  #generation = 0;

  /** `isNotified`: whether this process hears of changes. While it does not, nothing is kept. */
  constructor(isNotified: () => boolean) {
    this.#isNotified = isNotified;
  }

  /** Adds names that `names` lacks, of people by id or username in lower case. `read` reads the unknown. */
  async complete(
    names: Map<string, string>,
    people: ReadonlySet<string>,
    read: (unknown: string[]) => Promise<ReadonlyMap<string, string>>,
  ): Promise<void> {
    const unknown = [...people].filter((person) => !names.has(person) && !this.#take(person, names));
    if (unknown.length === 0) return;
    const generation = this.#generation;
    const found = await read(unknown);
    for (const [person, name] of found) names.set(person, name);
    // What was read before a change is not kept after it.
    if (generation === this.#generation && this.#isNotified())
      for (const person of unknown) this.#keep(person, found.get(person) ?? null);
  }

  /** Whenever somebody's name may have changed. */
  clear(): void {
    this.#generation++;
    this.#known.clear();
  }

  #take(person: string, names: Map<string, string>): boolean {
    const known = this.#known.get(person);
    if (known === undefined || known.untilMs <= performance.now() || !this.#isNotified()) return false;
    if (known.name !== null) names.set(person, known.name);
    return true;
  }

  #keep(person: string, name: string | null): void {
    if (this.#known.size >= MAX_NAMES) this.#known.clear();
    this.#known.set(person, { name, untilMs: performance.now() + KEPT_MS });
  }
}
