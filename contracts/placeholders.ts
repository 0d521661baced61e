/** Names of secrets in stored configurations: `<API_KEY>`, whole or embedded (interface-decisions §3, "Secrets"). */

const PLACEHOLDER = /<([A-Z][A-Z0-9_]*)>/g;
const UNBOUND = /<UNBOUND:([A-Z][A-Z0-9_]*)>/;

/** The names in all strings of a JSON value, keys aside. */
export function placeholderNames(value: unknown, names: Set<string> = new Set()): Set<string> {
  if (typeof value === 'string') for (const match of value.matchAll(PLACEHOLDER)) names.add(match[1] ?? '');
  else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) placeholderNames(each, names);
  return names;
}

/** The text with each placeholder replaced. Use it on stored text only, never on text that holds data. */
export function replacePlaceholders(text: string, replacement: (name: string) => string): string {
  return text.replace(PLACEHOLDER, (_, name: string) => replacement(name));
}

/** The name in a placeholder that an installed copy left to be bound by its owner; null where there is none. */
export function unboundName(value: unknown): string | null {
  if (typeof value === 'string') return UNBOUND.exec(value)?.[1] ?? null;
  if (typeof value !== 'object' || value === null) return null;
  for (const each of Object.values(value)) {
    const name = unboundName(each);
    if (name !== null) return name;
  }
  return null;
}
