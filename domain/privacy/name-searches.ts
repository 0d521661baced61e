/** What the searches of erasures look for, kept from one batch to the next. */
import type { EntityManager } from '../../db/orm.ts';
import { ERASED_NAME, erasedUsername } from './erased-names.ts';
import { createNameFinder, type NameFinder, type Replacements } from './name-finder.ts';
import { NAME_KINDS, soughtNames, sqlPattern, type Former, type NameTreatment } from './names.ts';

export interface NameSearch {
  /** For PostgreSQL, which passes over the records without a name. */
  pattern: string;
  finder: NameFinder;
}

export interface SoughtPerson {
  /** Null if every name is too short. */
  search: NameSearch | null;
  names: NameTreatment[];
}

/** Characters of all patterns that are kept: a common name has some ten thousand, the worst some millions. */
const MAX_KEPT_CHARACTERS = 8_388_608;

/**
 * The names of all accounts are read once for an erasure, not once for each of its batches. Keep this for
 * seconds only: accounts that get a longer name meanwhile are not known.
 */
export class NameSearches {
  readonly #kept = new Map<string, SoughtPerson>();
  readonly #maxCharacters: number;
  #characters = 0;

  constructor(maxCharacters = MAX_KEPT_CHARACTERS) {
    this.#maxCharacters = maxCharacters;
  }

  async of(em: EntityManager, userId: string, former: Former): Promise<SoughtPerson> {
    const kept = this.#kept.get(userId);
    if (kept !== undefined) return kept;
    const sought = await soughtPerson(em, userId, former);
    this.#keep(userId, sought);
    return sought;
  }

  /** The oldest ones make room; what is larger than all room is not kept. */
  #keep(userId: string, sought: SoughtPerson): void {
    if (sizeOf(sought) > this.#maxCharacters) return;
    this.#kept.set(userId, sought);
    this.#characters += sizeOf(sought);
    for (const [oldest, other] of this.#kept) {
      if (this.#characters <= this.#maxCharacters) break;
      this.#kept.delete(oldest);
      this.#characters -= sizeOf(other);
    }
  }
}

function sizeOf({ search }: SoughtPerson): number {
  return search === null ? 0 : search.pattern.length + search.finder.size;
}

export async function soughtPerson(em: EntityManager, userId: string, former: Former): Promise<SoughtPerson> {
  const sought = await soughtNames(em, userId, former);
  if (sought.names.length === 0) return { search: null, names: sought.treatments };
  const finder = createNameFinder(sought, replacementsOf(userId, sought.onlyReported));
  return { search: { pattern: sqlPattern(sought.names), finder }, names: sought.treatments };
}

function replacementsOf(userId: string, onlyReported: ReadonlySet<string>): Replacements {
  const username = erasedUsername(userId);
  const all = { username, email: `${username}@erased.invalid`, display_name: ERASED_NAME };
  return Object.fromEntries(
    NAME_KINDS.filter((kind) => !onlyReported.has(kind)).map((kind) => [kind, all[kind]]),
  );
}
