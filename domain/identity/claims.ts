/** Reads claims of an issuer by its mapping. Claims come from outside, so every list and text is bounded. */
import { cutTo } from '../../contracts/cut-text.ts';
import { MAX_GROUP_LENGTH, type ClaimMapping } from '../../contracts/identity.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { pointerTokens } from '../../contracts/json-pointer.ts';
import { ROLES, type Role } from '../../contracts/roles.ts';

export type ClaimValues = Readonly<Record<string, unknown>>;

const MAX_VALUES = 500;
const MAX_GROUPS = 200;
/** Control and direction characters make a text read as another. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** What is at a claim path: a text, a number or a boolean, or a list of these, as texts. */
export function valuesAt(claims: ClaimValues, path: string): string[] {
  const names = path.startsWith('/') ? pointerTokens(path) : [path];
  let value: unknown = claims;
  for (const name of names) {
    if (!isRecord(value) || !Object.hasOwn(value, name)) return [];
    value = value[name];
  }
  return (Array.isArray(value) ? value.slice(0, MAX_VALUES) : [value]).flatMap(asText);
}

function asText(value: unknown): string[] {
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isPlain ? [String(value)] : [];
}

/** The text at a claim path without hidden characters; null if there is none. */
export function textAt(claims: ClaimValues, path: string, maxLength: number): string | null {
  const [value] = valuesAt(claims, path);
  const shown = cutTo(value?.replaceAll(HIDDEN, '').trim() ?? '', maxLength);
  return shown === '' ? null : shown;
}

/**
 * The roles of all rules that fit, without the default. `groups` also count as values of the groups claim.
 */
export function rolesOf(mapping: ClaimMapping, claims: ClaimValues, groups: readonly string[] = []): Role[] {
  const given = mapping.roles.flatMap((rule) => {
    const values = valuesAt(claims, rule.claim);
    const fits =
      values.includes(rule.value) || (rule.claim === mapping.groups && groups.includes(rule.value));
    return fits ? rule.roles : [];
  });
  return ROLES.filter((role) => given.includes(role));
}

/**
 * The names of groups, without the issuer's. Those that are too long or have hidden characters do not count.
 */
export function groupsOf(mapping: ClaimMapping, claims: ClaimValues): string[] {
  if (mapping.groups === null) return [];
  const names = valuesAt(claims, mapping.groups).filter(isGroupName);
  return [...new Set(names)].slice(0, MAX_GROUPS);
}

export function isGroupName(name: string): boolean {
  return name !== '' && name.length <= MAX_GROUP_LENGTH && name.search(HIDDEN) < 0;
}
