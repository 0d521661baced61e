/**
 * The rule for what counts as a credential: by the name of its key, by its position in a URL, and by its
 * format. Credentials found by key or position are moved to the secret store when an agent is saved. Those
 * found only by format give a warning.
 */
import { escapeToken } from './json-pointer.ts';
import { placeholderNames, unboundName } from './placeholders.ts';

/** Matches a key without separators. `tokenizer` and `secretary` are other words. */
const WORDS = new RegExp(
  [
    'apikey|token(?!iz)|secret(?!ar)|password|passwd|passphrase|authorization|privatekey|accesskey',
    '|subscriptionkey|functionskey|signingkey|encryptionkey|credential',
  ].join(''),
);
/** Matches whole words only, because other words contain them. */
const WHOLE_WORDS = /(?:^|_)(?:cookie|pwd|x_auth|auth_key)(?:_|$)/;
/** Keys of accounts and of applications, as services name them. */
const KINDS_OF_KEY = /(?:^|_)(?:master|application|app|account|license|service)_key$/;
/** Keys are written with dashes in headers only. There, one is a credential unless it is known as another. */
const HEADER_KEY = /-key$/i;
const PLAIN_HEADER_KEY = new RegExp(
  [
    '(?:^|-)(?:idempotency|partition|routing|cache|surrogate|kafka|message|group|sort|primary|foreign',
    '|public|websocket|trace|correlation|dedup|deduplication|object|bucket|index)-key$',
  ].join(''),
  'i',
);
/** A key with this ending tells the location or kind of a credential. */
const ABOUT = /(?:url|uri|endpoint|name|type|field)$/;

/** The key in snake case: `X-API-Key` and `xApiKey` give `x_api_key`. */
function snake(key: string): string {
  return key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .toLowerCase();
}

/**
 * Whether a literal text under this key is a credential. Covers every spelling of keys in headers,
 * configurations and queries.
 */
export function namesCredential(key: string): boolean {
  const words = snake(key);
  const squashed = words.replaceAll('_', '');
  if (ABOUT.test(squashed)) return false;
  if (WORDS.test(squashed) || WHOLE_WORDS.test(words) || KINDS_OF_KEY.test(words)) return true;
  return HEADER_KEY.test(key) && !PLAIN_HEADER_KEY.test(key);
}

/** Further keys of credentials in `authentication_config`, in snake case. Elsewhere they name data. */
const AUTHENTICATION_KEY = new RegExp(
  [
    '^(?:keys?|values?|code|basic|session_id)$',
    '|(?:^|_)(?:jwt|pass|passcode|pin|otp|bearer|sig|signature|assertion)$',
    '|(?:^|_)(?:hmac|shared|user|server|client)_key$',
  ].join(''),
);
/** Maps of what is sent to authenticate. */
const SENT_MAP = /^(?:headers?|query|cookies?)$/i;
/** Keys in such maps that are sent along with credentials, in words without separators. */
const SENT_ALONG = new RegExp(
  [
    '^accept|(?:version|language|encoding|agent|origin|host|audience|scopes?|format|region)$',
    '|(?:client|tenant|account|project|organi[sz]ation|app|request)(?:id)?$',
  ].join(''),
);

/**
 * Whether a literal text of `authentication_config` is a credential: by the name of its key, by the map that
 * it is in, or by its format. `parent` is the key of the object with the key. Most texts there only say how
 * to authenticate, as those of OpenAPI and A2A do.
 */
export function isAuthenticationCredential(text: string, key: string, parent: string): boolean {
  if (namesCredential(key)) return true;
  if (/^https?:\/\/\S+$/i.test(text.trim())) return false;
  const words = snake(key);
  if (AUTHENTICATION_KEY.test(words)) return true;
  const squashed = words.replaceAll('_', '');
  if (SENT_MAP.test(parent) && !ABOUT.test(squashed) && !SENT_ALONG.test(squashed)) return true;
  // What addresses in a text hold is moved out of them.
  return !text.includes('://') && looksLikeCredential(text);
}

/** Placeholder name for a key: `x-Api-key` → `X_API_KEY`. */
export function placeholderFor(key: string): string {
  const word = snake(key)
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replaceAll(/^[^A-Z]+|_+$/g, '');
  return word.slice(0, 100) || 'SECRET';
}

/** Whether the text is non-empty and contains no placeholder. */
export function isLiteral(text: string): boolean {
  return text !== '' && placeholderNames(text).size === 0 && unboundName(text) === null;
}

/** The beginning of a query parameter in a URL. */
const QUERY_PARAMETER = /[?&;]([^=&?#;\s]{1,100})=/g;
const END_OF_VALUE = /[&#\s"'<>{}$]/g;
const MAX_VALUE = 4_000;
const USER_INFO = /(:\/\/[^\s/:@<>{}$?#]{0,200}:)([^\s/@<>{}$?#]{1,500})(?=@)/g;

/** Replaces credentials in URLs inside a text. `name` is the query parameter, or `password` for user info. */
export function replaceInAddresses(
  text: string,
  replacement: (value: string, name: string) => string,
): string {
  if (!text.includes('://')) return text;
  const withoutPasswords = text.replaceAll(
    USER_INFO,
    (_, before: string, value: string) => `${before}${replacement(value, 'password')}`,
  );
  return replaceInQueries(withoutPasswords, replacement);
}

/**
 * A value with `{`, `$` or `<` is a template, so it is left. Each character is read a few times at most:
 * values may hold what looks like other parameters.
 */
function replaceInQueries(text: string, replacement: (value: string, name: string) => string): string {
  const parts: string[] = [];
  let copied = 0;
  let end = 0;
  const begins = new RegExp(QUERY_PARAMETER);
  for (let found = begins.exec(text); found !== null; found = begins.exec(text)) {
    const from = begins.lastIndex;
    if (end < from) end = endOfValue(text, from);
    const isWhole = end > from && end - from <= MAX_VALUE && !/[<>{}$]/.test(text.charAt(end));
    if (!isWhole) continue;
    const [, name = ''] = found;
    if (namesCredential(name)) {
      parts.push(text.slice(copied, from), replacement(text.slice(from, end), name));
      copied = end;
    }
    begins.lastIndex = end;
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(copied);
}

function endOfValue(text: string, from: number): number {
  const ends = new RegExp(END_OF_VALUE);
  ends.lastIndex = from;
  return ends.exec(text)?.index ?? text.length;
}

/**
 * Formats of known credentials. Every repetition is bounded or cannot backtrack, so matching takes linear
 * time.
 */
export const KNOWN_CREDENTIALS: readonly RegExp[] = [
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
  // Ends before what could be another start, which is searched from there.
  /\beyJ(?:(?!-eyJ)[\w-]){8,4000}\.eyJ[\w-]{8,8000}(?:\.[\w-]{0,4000})?/g,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
  /(?<=\b(?:bearer|basic)\s{1,4})[A-Za-z0-9+/=._~-]{16,8000}/gi,
  /(?<=:\/\/[^\s/:@<$]{0,100}:)[^\s/@<$]{1,500}(?=@)/g,
  /(?<=[?&](?:api[_-]?key|key|token|access_token|secret|password|sig|signature)=)[^&#\s<$]{6,1000}/gi,
];

/** Whether the text contains something that looks like a credential. */
export function looksLikeCredential(text: string): boolean {
  return KNOWN_CREDENTIALS.some((pattern) =>
    (text.match(pattern) ?? []).some((found) => !/^<[^<>]*>$/.test(found)),
  );
}

/** JSON pointers, below `pointer`, of the first 20 texts that look like credentials. */
export function credentialsIn(value: unknown, pointer: string, found: string[] = []): string[] {
  if (found.length >= 20) return found;
  if (typeof value === 'string') {
    if (looksLikeCredential(value)) found.push(pointer);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value))
      credentialsIn(item, `${pointer}/${escapeToken(key)}`, found);
  }
  return found;
}

/** Parts of a definition whose literal values are sent to servers. */
const SENT_PARTS = new Set(['authentication', 'authentications', 'headers', 'query']);

/** JSON pointers of the first 20 literal credentials in a workflow definition. Expressions do not count. */
export function credentialsInDefinition(definition: unknown): string[] {
  const found: string[] = [];
  const walk = (value: unknown, key: string, sent: boolean, pointer: string): void => {
    if (found.length >= 20) return;
    if (typeof value === 'string') {
      const literal = sent && namesCredential(key) && isLiteral(value) && !value.includes('${');
      let inAddress = false;
      replaceInAddresses(value, (credential) => {
        inAddress = true;
        return credential;
      });
      if (literal || inAddress || looksLikeCredential(value)) found.push(pointer);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, item] of Object.entries(value)) {
        const below = Array.isArray(value) ? key : name;
        walk(item, below, sent || SENT_PARTS.has(name), `${pointer}/${escapeToken(name)}`);
      }
    }
  };
  walk(definition, '', false, '');
  return found;
}
