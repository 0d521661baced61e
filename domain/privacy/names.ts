/** Which names of a person are looked for in texts, and how one is told from a part of another word. */
import { EVENT, RUN_STATUSES, RUN_TASK_STATUSES } from '../../contracts/run-events.ts';
import { TASK_STATUSES } from '../../contracts/hitl.ts';
import { ROLES } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';

export const NAME_KINDS = ['username', 'email', 'display_name'] as const;
export type NameKind = (typeof NAME_KINDS)[number];

/** The names of before the erasure. */
export type Former = { username: string } & Partial<Record<NameKind, string | null>>;

/** Shorter names are parts of too much. In scripts without spaces two characters are a name. */
const MIN_LENGTH: Readonly<Record<NameKind, number>> = { username: 3, email: 3, display_name: 4 };
const MIN_LENGTH_UNSPACED = 2;
const UNSPACED = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao'].map((script) => `\\p{Script=${script}}`);
const ONLY_UNSPACED = new RegExp(`^[${UNSPACED.join('')}]+$`, 'u');

/** Words that records of the platform consist of. To replace them would break the records. */
const OWN_WORDS: ReadonlySet<string> = new Set(
  [
    ...ROLES,
    ...RUN_STATUSES,
    ...RUN_TASK_STATUSES,
    ...TASK_STATUSES,
    ...Object.values(EVENT),
    'agent assistant data file json message object string system text user',
  ].flatMap((text) => text.toLowerCase().split(/[^a-z]+/)),
);

/** Names of other accounts that contain one of the person's; more are not read. */
const MAX_OTHERS = 1_000;

export interface SoughtName {
  kind: NameKind;
  text: string;
}

export interface NameTreatment {
  name: NameKind;
  treatment: 'searched' | 'only_reported' | 'not_searched';
  why: string | null;
}

export interface Sought {
  names: SoughtName[];
  /** Kinds of names that are not replaced. */
  onlyReported: ReadonlySet<NameKind>;
  /** Longer names of other people, which stay: `ann.lee` is not Ann. */
  others: string[];
  treatments: NameTreatment[];
}

export async function soughtNames(em: EntityManager, userId: string, former: Former): Promise<Sought> {
  const treatments: NameTreatment[] = [];
  const names: SoughtName[] = [];
  for (const kind of NAME_KINDS) {
    const text = former[kind]?.trim() ?? '';
    if (text === '' || names.some((name) => folded(name.text) === folded(text))) continue;
    if (isLongEnough(kind, text)) names.push({ kind, text });
    else treatments.push({ name: kind, treatment: 'not_searched', why: 'It is too short.' });
  }
  const taken = names.length === 0 ? [] : await namesOfOthers(em, userId, names);
  const onlyReported = new Set<NameKind>();
  for (const { kind, text } of names) {
    const why = whyNotReplaced(text, taken);
    if (why !== null) onlyReported.add(kind);
    treatments.push({ name: kind, treatment: why === null ? 'searched' : 'only_reported', why });
  }
  const own = new Set(names.map(({ text }) => folded(text)));
  return { names, onlyReported, others: taken.filter((name) => !own.has(folded(name))), treatments };
}

function isLongEnough(kind: NameKind, text: string): boolean {
  const least = ONLY_UNSPACED.test(text) ? MIN_LENGTH_UNSPACED : MIN_LENGTH[kind];
  return Array.from(text).length >= least;
}

function whyNotReplaced(text: string, taken: readonly string[]): string | null {
  if (OWN_WORDS.has(text.toLowerCase())) return 'Records of the platform consist of this word.';
  if (taken.some((name) => folded(name) === folded(text))) return 'Another account has the same name.';
  return null;
}

function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

async function namesOfOthers(
  em: EntityManager,
  userId: string,
  names: readonly SoughtName[],
): Promise<string[]> {
  const pattern = sqlPattern(names);
  const rows = await em.execute<{ name: string }[]>(
    `select distinct n.name
       from user_account u, unnest(array[u.username, u.email, u.display_name]) as n (name)
      where u.id <> ? and (n.name collate "C") ~ ? limit ${MAX_OTHERS}`,
    [userId, pattern],
  );
  return rows.map(({ name }) => name);
}

/**
 * A regular expression of PostgreSQL for values that may contain a name, as text or as JSON. It names each
 * letter in both cases, so it does not depend on the database's locale; `NameFinder` decides about words.
 */
export function sqlPattern(names: readonly SoughtName[]): string {
  return names
    .flatMap(({ text }) => spellings(text))
    .map((text) => Array.from(text, sqlCharacter).join(''))
    .join('|');
}

/** The same letters can be written with combined and with single characters. */
export function spellings(text: string): string[] {
  return [...new Set([text, text.normalize('NFC'), text.normalize('NFD')])];
}

function sqlCharacter(character: string): string {
  if (/[A-Za-z]/.test(character)) return `[${character.toLowerCase()}${character.toUpperCase()}]`;
  // JSON writes these with escapes, within JSON as a text with more of them; a line may break at a space.
  if (/[\s"\\/]/.test(character) || character < ' ') return '.{1,8}';
  if (/[0-9]/.test(character)) return character;
  if (character < '\u0080') return `\\${character}`;
  const escapes = `(?:\\\\+u[0-9a-fA-F]{4}){${character.length}}`;
  return `(?:${[...cases(character), escapes].join('|')})`;
}

/** The character in lower and in upper case, where that is one character too. */
export function cases(character: string): string[] {
  const all = [character, character.toLowerCase(), character.toUpperCase()];
  return [...new Set(all)].filter((one) => one.length === character.length);
}

/** In scripts without spaces a name stands between other letters. */
export function isUnspaced(character: string): boolean {
  return ONLY_UNSPACED.test(character);
}
