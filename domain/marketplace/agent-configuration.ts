/**
 * Prepares an agent's configuration for an item, and for an installed copy. Secret values stay behind; only
 * their names travel.
 */
import { replacePlaceholders } from '../../contracts/placeholders.ts';
import {
  isAuthenticationCredential,
  namesCredential,
  placeholderFor,
  replaceInAddresses,
} from '../../contracts/credentials.ts';
import { isLiteralSecret, replaceCredentials, type OwnSecret } from './literals.ts';

type JsonObject = Record<string, unknown>;

const UNBOUND = /<UNBOUND:([A-Z][A-Z0-9_]*)>/g;
/** Names of secrets that were moved out of a configuration on save: `AGENT_<id>_<FIELD>_<n>`. */
const MOVED = /^AGENT_[0-9A-F]{32}_(.+)_\d+$/;

interface Parts {
  configuration: JsonObject | null;
  authentication_config: JsonObject | null;
}

export interface Cleaned extends Parts {
  /** The names of all placeholders, sorted. */
  secrets: string[];
}

/**
 * Copies the parts of one configuration without secrets. A literal becomes a placeholder named after its key;
 * a value from the owner's store becomes a placeholder with that secret's name. Names that the platform
 * generated contain the agent's id, so they are replaced by the field's name.
 */
export function withoutSecrets(parts: Parts, own: readonly OwnSecret[]): Cleaned {
  const names = new Names();
  for (const name of namesIn(parts)) if (!MOVED.test(name)) names.keep(name);

  const withoutKnown = (value: string, key: string): string => {
    const named = replacePlaceholders(
      value.replaceAll(UNBOUND, (_, name: string) => `<${name}>`),
      (name) => `<${names.of(name)}>`,
    );
    const addressed = replaceInAddresses(named, (found, name) => `<${names.literal(name, found)}>`);
    return replaceCredentials(addressed, own, (found, store) =>
      store === null ? `<${names.literal(key, found)}>` : `<${names.of(store)}>`,
    );
  };
  const cleanedBy = ({ isCredential, isHolder }: Rules) => {
    const walk = (value: unknown, key: string, parent: string, below: boolean): unknown => {
      if (typeof value === 'string') {
        const free = withoutKnown(value, key);
        const isSecret = (below || isCredential(free, key, parent)) && isLiteralSecret(free);
        return isSecret ? `<${names.literal(key, free)}>` : free;
      }
      if (Array.isArray(value)) return value.map((item) => walk(item, key, parent, below));
      if (typeof value !== 'object' || value === null) return value;
      const holds = below || isHolder(key, parent);
      return Object.fromEntries(
        Object.entries(value).map(([name, item]) => [name, walk(item, name, key, holds)]),
      );
    };
    // The assertion holds: strings are only replaced by strings.
    return (part: JsonObject | null) => walk(part, '', '', false) as JsonObject | null;
  };
  const configuration = cleanedBy(CONFIGURATION)(parts.configuration);
  const authentication = cleanedBy(AUTHENTICATION)(parts.authentication_config);
  const cleaned = { configuration, authentication_config: authentication };
  return { ...cleaned, secrets: [...namesIn(cleaned)].toSorted() };
}

/** `parent` is the key of the object with the key. */
interface Rules {
  isCredential: (text: string, key: string, parent: string) => boolean;
  /** Whether all texts below the key are credentials. */
  isHolder: (key: string, parent: string) => boolean;
}

const CONFIGURATION: Rules = {
  isCredential: (_text, key) => namesCredential(key),
  isHolder: namesCredential,
};

/** Objects of OpenAPI and A2A whose keys name ways to authenticate, such as `password` and `apiKey`. */
const WAYS = /^(?:flows|(?:security_?)?schemes)$/i;

const AUTHENTICATION: Rules = {
  isCredential: isAuthenticationCredential,
  isHolder: (key, parent) => namesCredential(key) && !WAYS.test(parent) && !/scheme$/i.test(key),
};

/** For an installed copy: `bound` returns the new owner's name for a secret, or null. */
export function withBindings<T extends JsonObject | null>(
  part: T,
  bound: (name: string) => string | null,
): T {
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
  // The assertion holds: strings are only replaced by strings.
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

/** Assigns each secret one name. Kept names stay; others get the closest free name. */
class Names {
  readonly #taken = new Set<string>();
  readonly #assigned = new Map<string, string>();

  keep(name: string): void {
    this.#taken.add(name);
    this.#assigned.set(`name ${name}`, name);
  }

  /** The name for a secret of the store. */
  of(name: string): string {
    return this.#give(`name ${name}`, placeholderFor(MOVED.exec(name)?.[1] ?? name));
  }

  /** The name for a literal; the same value under the same key is the same secret. */
  literal(key: string, value: string): string {
    return this.#give(`literal ${placeholderFor(key)} ${value}`, placeholderFor(key));
  }

  #give(secret: string, wanted: string): string {
    const before = this.#assigned.get(secret);
    if (before !== undefined) return before;
    let name = wanted;
    for (let count = 2; this.#taken.has(name); count += 1) name = `${wanted}_${count}`;
    this.#taken.add(name);
    this.#assigned.set(secret, name);
    return name;
  }
}
