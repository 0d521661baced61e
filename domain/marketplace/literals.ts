/**
 * Finds secrets written into texts, so that none travels with an item. There are three signs: a value of the
 * publisher's secret store, a text that looks like a known kind of credential, and a literal under a key that
 * names one.
 */
import { escapeToken } from '../../contracts/json-pointer.ts';
import {
  isLiteral,
  KNOWN_CREDENTIALS,
  looksLikeCredential,
  namesCredential,
} from '../../contracts/credentials.ts';

/** Shorter values, and short words, occur in ordinary texts. */
const SHORTEST_VALUE = 6;

export interface OwnSecret {
  name: string;
  value: string;
}

/** The texts by which a stored secret can be recognised: its value, and the strings inside a JSON value. */
export function ownSecrets(secrets: readonly OwnSecret[]): OwnSecret[] {
  return secrets
    .flatMap(({ name, value }) => [value, ...textsOfJson(value)].map((text) => ({ name, value: text })))
    .filter(({ value }) => value.trim().length >= SHORTEST_VALUE && !/^[a-z]{1,7}$/.test(value))
    .toSorted((a, b) => b.value.length - a.value.length);
}

function textsOfJson(value: string): string[] {
  if (!/^\s*[{[]/.test(value)) return [];
  try {
    return textsIn(JSON.parse(value));
  } catch {
    return [];
  }
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Whether a text under such a key is a literal: not a placeholder, template, number or URL. */
export function isLiteralSecret(text: string): boolean {
  const plain = text.trim();
  if (plain === '' || !isLiteral(text) || text.includes('${')) return false;
  return !/^-?\d+(?:\.\d+)?$/.test(plain) && !/^https?:\/\//i.test(plain);
}

/**
 * Replaces each credential in the text. `own` is the name of the stored secret; null if the text only looks
 * like a credential.
 */
export function replaceCredentials(
  text: string,
  own: readonly OwnSecret[],
  replacement: (value: string, own: string | null) => string,
): string {
  let result = text;
  for (const { name, value } of own) {
    if (result.includes(value)) result = result.replaceAll(value, () => replacement(value, name));
  }
  for (const pattern of KNOWN_CREDENTIALS)
    result = result.replace(pattern, (found) => (isPlaceholder(found) ? found : replacement(found, null)));
  return result;
}

function isPlaceholder(text: string): boolean {
  return /^<[^<>]*>$/.test(text);
}

/** The place of a credential: a JSON pointer, and the publisher's secret with that value, if there is one. */
export interface FoundLiteral {
  pointer: string;
  secret: string | null;
}

/**
 * The texts and keys that hold a credential, 50 at most. `byKey` includes literals directly under a key that
 * names a credential.
 */
export function literalsIn(
  value: unknown,
  own: readonly OwnSecret[],
  options: { byKey: boolean },
  pointer = '',
  key = '',
  found: FoundLiteral[] = [],
): FoundLiteral[] {
  if (found.length >= 50) return found;
  if (typeof value === 'string') {
    const credential = credentialIn(value, own);
    if (credential !== null) found.push({ pointer, ...credential });
    else if (options.byKey && namesCredential(key) && isLiteralSecret(value))
      found.push({ pointer, secret: null });
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      literalsIn(item, own, options, `${pointer}/${index}`, key, found);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      const credential = credentialIn(name, own);
      // The key itself is the secret, so the pointer must not contain it.
      if (credential !== null) found.push({ pointer, ...credential });
      else literalsIn(item, own, options, `${pointer}/${escapeToken(name)}`, name, found);
    }
  }
  return found;
}

function credentialIn(text: string, own: readonly OwnSecret[]): { secret: string | null } | null {
  const stored = own.find(({ value }) => text.includes(value));
  if (stored) return { secret: stored.name };
  return looksLikeCredential(text) ? { secret: null } : null;
}
