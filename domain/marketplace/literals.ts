/**
 * Secrets that somebody wrote into a text, so that none travels with an item. Three signs: a value of the publisher's own
 * secret store, a text that looks like a credential of a known kind, a literal under a key that names one.
 */
import { isSecretKey } from '../../contracts/agent-configuration.ts';
import { placeholderNames, unboundName } from '../../contracts/placeholders.ts';

/** Shorter values, and short words, are what texts hold anyway. */
const SHORTEST_VALUE = 6;

/** Each match is a credential. Every repetition is bounded or cannot be entered again, so that the time is linear. */
const CREDENTIALS: readonly RegExp[] = [
  /\bsk-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{12,500}/g,
  /\b[rs]k_(?:live|test)_[A-Za-z0-9]{8,255}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,255}/g,
  /\bgithub_pat_\w{20,255}/g,
  /\bglpat-[\w-]{15,255}/g,
  /\bxox[abeprs]-[\w-]{10,255}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bAIza[\w-]{30,60}/g,
  /\bhf_[A-Za-z0-9]{25,100}/g,
  /\bnpm_[A-Za-z0-9]{36}/g,
  /\bSG\.[\w-]{16,64}\.[\w-]{16,128}/g,
  /\beyJ[\w-]{8,4000}\.eyJ[\w-]{8,8000}(?:\.[\w-]{0,4000})?/g,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
  /(?<=\b(?:bearer|basic)\s{1,4})[A-Za-z0-9+/=._~-]{16,8000}/gi,
  /(?<=:\/\/[^\s/:@<$]{0,100}:)[^\s/@<$]{1,500}(?=@)/g,
  /(?<=[?&](?:api[_-]?key|key|token|access_token|secret|password|sig|signature)=)[^&#\s<$]{6,1000}/gi,
];

const SECRET_WORDS = /(?:^|_)(?:api_?keys?|access_?keys?|private_?key|secret|secrets|token|password|passwd|passphrase|pwd|authorization|credential|credentials|cookie)$/;

export interface OwnSecret {
  name: string;
  value: string;
}

/** What a value of the store would be found as: itself, and the texts of one that is a JSON object. */
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

/** The key as a word of a placeholder: `x-Api-key` → `X_API_KEY`. */
export function placeholderFor(key: string): string {
  const word = snake(key).toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_').replaceAll(/^[^A-Z]+|_+$/g, '');
  return word.slice(0, 100) || 'SECRET';
}

/** A key under which people keep secrets: a wider net than for what is moved to the store on save. */
export function namesSecret(key: string): boolean {
  return isSecretKey(key) || SECRET_WORDS.test(snake(key));
}

/** A text under such a key that is no placeholder, no template, no number and no address. */
export function isLiteralSecret(text: string): boolean {
  const plain = text.trim();
  if (plain === '' || placeholderNames(text).size > 0 || unboundName(text) !== null || text.includes('${')) return false;
  return !/^-?\d+(?:\.\d+)?$/.test(plain) && !/^https?:\/\//i.test(plain);
}

function snake(key: string): string {
  return key.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll(/[-.\s]/g, '_').toLowerCase();
}

/** The text with each credential in it replaced; `own` names the secret of the store, null where the text only looks like one. */
export function replaceCredentials(text: string, own: readonly OwnSecret[], replacement: (value: string, own: string | null) => string): string {
  let result = text;
  for (const { name, value } of own) {
    if (result.includes(value)) result = result.replaceAll(value, () => replacement(value, name));
  }
  for (const pattern of CREDENTIALS) result = result.replace(pattern, (found) => (isPlaceholder(found) ? found : replacement(found, null)));
  return result;
}

function isPlaceholder(text: string): boolean {
  return /^<[^<>]*>$/.test(text);
}

/** Where a credential is: a JSON pointer, and the name of the publisher's secret whose value it is, if it is one. */
export interface FoundLiteral {
  pointer: string;
  secret: string | null;
}

/** Texts and keys that hold a credential, 50 at most. `byKey`: also literals directly under a key that names one. */
export function literalsIn(value: unknown, own: readonly OwnSecret[], options: { byKey: boolean }, pointer = '', key = '', found: FoundLiteral[] = []): FoundLiteral[] {
  if (found.length >= 50) return found;
  if (typeof value === 'string') {
    const credential = credentialIn(value, own);
    if (credential !== null) found.push({ pointer, ...credential });
    else if (options.byKey && namesSecret(key) && isLiteralSecret(value)) found.push({ pointer, secret: null });
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) literalsIn(item, own, options, `${pointer}/${index}`, key, found);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      const credential = credentialIn(name, own);
      // Such a key is not shown: it is the secret.
      if (credential !== null) found.push({ pointer, ...credential });
      else literalsIn(item, own, options, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, name, found);
    }
  }
  return found;
}

function credentialIn(text: string, own: readonly OwnSecret[]): { secret: string | null } | null {
  const stored = own.find(({ value }) => text.includes(value));
  if (stored) return { secret: stored.name };
  return CREDENTIALS.some((pattern) => (text.match(pattern) ?? []).some((found) => !isPlaceholder(found))) ? { secret: null } : null;
}
