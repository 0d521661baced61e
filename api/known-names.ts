/** Names of people that this process has read within a second, so that not every answer reads them. */
import { NotifiedCache } from '../domain/notified-cache.ts';

/** The longest that an answer has the name that a person had before, if no notification arrives. */
const KEPT_MS = 1_000;
const MAX_NAMES = 10_000;

export class KnownNames {
  /** Null if there is no such person. */
  readonly #known: NotifiedCache<string | null>;

  /** `isNotified`: whether this process hears of changes. While it does not, nothing is kept. */
  constructor(isNotified: () => boolean) {
    this.#known = new NotifiedCache({ isNotified, keptMs: KEPT_MS, most: MAX_NAMES });
  }

  /** Adds names that `names` lacks, of people by id or username in lower case. `read` reads the unknown. */
  async complete(
    names: Map<string, string>,
    people: ReadonlySet<string>,
    read: (unknown: string[]) => Promise<ReadonlyMap<string, string>>,
  ): Promise<void> {
    const unknown = [...people].filter((person) => !names.has(person) && !this.#take(person, names));
    if (unknown.length === 0) return;
    const keep = this.#known.reading();
    const found = await read(unknown);
    for (const [person, name] of found) names.set(person, name);
    for (const person of unknown) keep(person, found.get(person) ?? null);
  }

  /** Whenever somebody's name may have changed. */
  clear(): void {
    this.#known.clear();
  }

  #take(person: string, names: Map<string, string>): boolean {
    const name = this.#known.get(person);
    if (typeof name === 'string') names.set(person, name);
    return name !== undefined;
  }
}
