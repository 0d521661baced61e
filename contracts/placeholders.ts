/**
 * Secret placeholders in stored configurations: `<API_KEY>`, as the whole text or inside it
 * (docs/interface.md#secrets).
 */

const PLACEHOLDER = /<([A-Z][A-Z0-9_]*)>/g;
const UNBOUND = /<UNBOUND:([A-Z][A-Z0-9_]*)>/;

/** Placeholder names in all strings of a JSON value, except keys. */
export function placeholderNames(value: unknown, names: Set<string> = new Set()): Set<string> {
  if (typeof value === 'string') for (const match of value.matchAll(PLACEHOLDER)) names.add(match[1] ?? '');
  else if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) placeholderNames(item, names);
  return names;
}

/** Replaces each placeholder. Use it only on stored text, never on text that contains user data. */
export function replacePlaceholders(text: string, replacement: (name: string) => string): string {
  return text.replace(PLACEHOLDER, (_, name: string) => replacement(name));
}

/**
 * Like `replacePlaceholders`, where an unbound one is only a mark in a text for a model: it stands for
 * itself, as its author wrote it, and never for a secret.
 */
export function fillPlaceholders(text: string, replacement: (name: string) => string): string {
  return text.replaceAll(/<(UNBOUND:)?([A-Z][A-Z0-9_]*)>/g, (_, unbound: string | undefined, name: string) =>
    unbound === undefined ? replacement(name) : `<${name}>`,
  );
}

/**
 * Name of the first unbound placeholder, which an installed copy leaves for its owner to bind; null if there
 * is none.
 */
export function unboundName(value: unknown): string | null {
  if (typeof value === 'string') return UNBOUND.exec(value)?.[1] ?? null;
  if (typeof value !== 'object' || value === null) return null;
  for (const item of Object.values(value)) {
    const name = unboundName(item);
    if (name !== null) return name;
  }
  return null;
}
