/** An agent's configuration on its way into an item and out of one: secrets stay behind, their names travel. */
import { replacePlaceholders } from '../../contracts/placeholders.ts';
import { isLiteralSecret, namesSecret, placeholderFor, replaceCredentials, type OwnSecret } from './literals.ts';

type JsonObject = Record<string, unknown>;

const UNBOUND = /<UNBOUND:([A-Z][A-Z0-9_]*)>/g;
/** Names of secrets that were moved out of a configuration on save: `AGENT_<id>_<FIELD>_<n>`. */
const MOVED = /^AGENT_[0-9A-F]{32}_(.+)_\d+$/;

export interface Cleaned {
  parts: (JsonObject | null)[];
  /** The names of all placeholders, sorted. */
  secrets: string[];
}

/**
 * Copies of the parts of one configuration without secrets: a literal becomes a placeholder named after its key, a value of the
 * owner's store that store's name; names that the platform made, which hold the agent's id, become the field's.
 */
export function withoutSecrets(parts: readonly (JsonObject | null)[], own: readonly OwnSecret[]): Cleaned {
  const names = new Names();
  for (const name of namesIn(parts)) if (!MOVED.test(name)) names.keep(name);

  const text = (value: string, key: string, below: boolean): string => {
    const named = replacePlaceholders(value.replaceAll(UNBOUND, (_, name: string) => `<${name}>`), (name) => `<${names.of(name)}>`);
    const free = replaceCredentials(named, own, (found, store) => (store === null ? `<${names.literal(key, found)}>` : `<${names.of(store)}>`));
    return (below || namesSecret(key)) && isLiteralSecret(free) ? `<${names.literal(key, free)}>` : free;
  };
  const walk = (value: unknown, key: string, below: boolean): unknown => {
    if (typeof value === 'string') return text(value, key, below);
    if (Array.isArray(value)) return value.map((item) => walk(item, key, below));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, walk(item, name, below || namesSecret(key))]));
  };
  // The shape is kept: only strings are replaced by strings.
  const cleaned = parts.map((part) => walk(part, '', false) as JsonObject | null);
  return { parts: cleaned, secrets: [...namesIn(cleaned)].toSorted() };
}

/** For an installed copy: `bound` gives the new owner's name of a secret, or null. */
export function withBindings<T extends JsonObject | null>(part: T, bound: (name: string) => string | null): T {
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') {
      return replacePlaceholders(value, (name) => {
        const ownName = bound(name);
        return ownName === null ? `<UNBOUND:${name}>` : `<${ownName}>`;
      });
    }
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  // As above.
  return walk(part) as T;
}

function namesIn(value: unknown, names: Set<string> = new Set()): Set<string> {
  if (typeof value === 'string') {
    for (const [, name = ''] of value.matchAll(/<(?:UNBOUND:)?([A-Z][A-Z0-9_]*)>/g)) names.add(name);
  } else if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) namesIn(item, names);
  }
  return names;
}

/** One name for one secret: what was kept keeps its name, all else takes the nearest that is free. */
class Names {
  readonly #taken = new Set<string>();
  readonly #given = new Map<string, string>();

  keep(name: string): void {
    this.#taken.add(name);
    this.#given.set(`name ${name}`, name);
  }

  /** Of a secret in the store. */
  of(name: string): string {
    return this.#give(`name ${name}`, placeholderFor(MOVED.exec(name)?.[1] ?? name));
  }

  /** Of a literal; the same value under the same key is the same secret. */
  literal(key: string, value: string): string {
    return this.#give(`literal ${placeholderFor(key)} ${value}`, placeholderFor(key));
  }

  #give(what: string, wanted: string): string {
    const before = this.#given.get(what);
    if (before !== undefined) return before;
    let name = wanted;
    for (let count = 2; this.#taken.has(name); count += 1) name = `${wanted}_${count}`;
    this.#taken.add(name);
    this.#given.set(what, name);
    return name;
  }
}
