/** Which names of a person are looked for in texts, and how one is told from a part of another word. */
import { EVENT, RUN_STATUSES, RUN_TASK_STATUSES } from '../../contracts/run-events.ts';
import { TASK_STATUSES } from '../../contracts/hitl.ts';
import { ROLES } from '../../contracts/roles.ts';
import { isUuid } from '../../contracts/uuid.ts';
import type { EntityManager } from '../../db/orm.ts';
import { cases, isUnspaced, nameTest, spellings } from './name-pattern.ts';

export const NAME_KINDS = ['username', 'email', 'display_name'] as const;
export type NameKind = (typeof NAME_KINDS)[number];

/** The names of before the erasure. */
export type Former = { username: string } & Partial<Record<NameKind, string | null>>;

/** Shorter names are parts of too much. In scripts without spaces two characters are a name. */
const MIN_LENGTH: Readonly<Record<NameKind, number>> = { username: 3, email: 3, display_name: 4 };
const MIN_LENGTH_UNSPACED = 2;

/** Words that records of the platform, JSON and links consist of. To replace them would break those. */
const OWN_WORDS: ReadonlySet<string> = new Set(
  [
    ...ROLES,
    ...RUN_STATUSES,
    ...RUN_TASK_STATUSES,
    ...TASK_STATUSES,
    ...Object.values(EVENT),
    'agent assistant data file json message object string system text user',
    'approve reject true false null dark light http https www files',
  ].flatMap((text) => text.toLowerCase().split(/[^a-z]+/)),
);

/** Names of other accounts that contain one of the person's. With more of them it is only reported. */
const MAX_OTHERS = 1_000;
/** Names in which a name may be a part of a word; the shortest are read, and so those that are equal. */
const MAX_READ = 50_000;

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
  const candidates = names.length === 0 ? [] : await namesOfOthers(em, userId, names);
  const onlyReported = new Set<NameKind>();
  const longer = new Set<string>();
  for (const { kind, text } of names) {
    const { isSame, isIn } = nameTest(text);
    const others = candidates.filter(isIn);
    const why = whyNotReplaced(text, others.some(isSame), others.length);
    if (why !== null) onlyReported.add(kind);
    treatments.push({ name: kind, treatment: why === null ? 'searched' : 'only_reported', why });
    for (const other of others.slice(0, MAX_OTHERS)) longer.add(other);
  }
  for (const { text } of names) {
    const { isSame } = nameTest(text);
    for (const other of longer) if (isSame(other)) longer.delete(other);
  }
  return { names, onlyReported, others: [...longer], treatments };
}

function isLongEnough(kind: NameKind, text: string): boolean {
  const least = isUnspaced(text) ? MIN_LENGTH_UNSPACED : MIN_LENGTH[kind];
  return Array.from(text).length >= least;
}

function whyNotReplaced(text: string, isTaken: boolean, others: number): string | null {
  if (OWN_WORDS.has(text.toLowerCase())) return 'Records of the platform consist of this word.';
  if (isUuid(text) || !/\p{L}/u.test(text)) return 'It may be an id, a number, a date or a sign.';
  if (isTaken) return 'Another account has the same name.';
  if (others > MAX_OTHERS) return 'The names of too many other accounts contain it.';
  return null;
}

function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** Those that may contain one of the names. */
async function namesOfOthers(
  em: EntityManager,
  userId: string,
  names: readonly SoughtName[],
): Promise<string[]> {
  const rows = await em.execute<{ name: string }[]>(
    `select n.name from user_account u, unnest(array[u.username, u.email, u.display_name]) as n (name)
      where u.id <> ? and (n.name collate "C") ~ ?
      group by n.name order by length(n.name), n.name limit ${MAX_READ}`,
    [userId, sqlPattern(names)],
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

function sqlCharacter(character: string): string {
  if (/[A-Za-z]/.test(character)) return `[${character.toLowerCase()}${character.toUpperCase()}]`;
  // JSON writes these with escapes, within JSON as a text with more of them; a line may break at a space.
  if (/[\s"\\/]/.test(character) || character < ' ') return '.{1,8}';
  if (/[0-9]/.test(character)) return character;
  if (character < '\u0080') return `\\${character}`;
  const escapes = `(?:\\\\+u[0-9a-fA-F]{4}){${character.length}}`;
  return `(?:${[...cases(character), escapes].join('|')})`;
}
