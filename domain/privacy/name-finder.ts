/** Finds a person's names in a text or in JSON, and replaces them. */
import { isRecord } from '../../contracts/is-record.ts';
import { spellings, UUID_PATTERN } from './name-pattern.ts';
import { treePattern, type Word } from './name-tree.ts';
import type { NameKind, Sought } from './names.ts';

/** By kind of name; of those that are not here, the text stays. */
export type Replacements = Readonly<Partial<Record<NameKind, string>>>;

export interface Reading<T> {
  value: T;
  /** Names that were found, and those among them that stay. */
  found: number;
  left: number;
}

export interface NameFinder {
  /** Characters of its pattern, which decide about its memory. */
  size: number;
  readText(text: string): Reading<string>;
  /** With `keys` also in the names of fields, which only people's own data may change. */
  readJson(value: unknown, keys: boolean): Reading<unknown>;
}

const UUID_LENGTH = 36;

export function createNameFinder({ names, others }: Sought, replacements: Replacements): NameFinder {
  const words: Word[] = [
    ...others.map((text) => ({ text, kind: null })),
    ...names.flatMap(({ kind, text }) => spellings(text).map((spelling) => ({ text: spelling, kind }))),
  ];
  const isLong = ({ text }: Word): boolean => text.length > UUID_LENGTH;
  const [long, short] = [words.filter(isLong), words.filter((word) => !isLong(word))];
  const kinds: NameKind[] = [];
  const alternatives = [
    ...(long.length === 0 ? [] : [treePattern(long, kinds)]),
    // Within an id there are no names.
    UUID_PATTERN,
    ...(short.length === 0 ? [] : [treePattern(short, kinds)]),
  ];
  const pattern = new RegExp(alternatives.join('|'), 'giu');

  const readText = (text: string): Reading<string> => {
    let [found, left] = [0, 0];
    const value = text.replace(pattern, (match, ...groups) => {
      // Of the groups at most one has matched; after them come the position and the text.
      const kind = kinds[groups.slice(0, kinds.length).findIndex((group) => group !== undefined)];
      if (kind === undefined) return match;
      const replacement = replacements[kind];
      found += 1;
      if (replacement === undefined) left += 1;
      return replacement ?? match;
    });
    return { value, found, left };
  };
  const size = pattern.source.length;
  return { size, readText, readJson: (value, keys) => readValues(value, keys, readText) };
}

/** Few frames for each level: what could be stored can be read, however deep it is. */
function readValues(whole: unknown, keys: boolean, readText: NameFinder['readText']): Reading<unknown> {
  let [found, left] = [0, 0];
  const read = (text: string): string => {
    const reading = readText(text);
    found += reading.found;
    left += reading.left;
    return reading.value;
  };
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return read(value);
    if (Array.isArray(value)) {
      const list: unknown[] = [];
      for (const entry of value) list.push(walk(entry));
      return list;
    }
    if (!isRecord(value)) return value;
    const fields: [string, unknown][] = [];
    const nameOf = keys ? distinctNames(read) : (key: string) => key;
    for (const key of Object.keys(value)) fields.push([nameOf(key), walk(value[key])]);
    return Object.fromEntries(fields);
  };
  return { value: walk(whole), found, left };
}

/** Two fields may have got the same name: no value is lost. */
function distinctNames(read: (text: string) => string): (key: string) => string {
  const used = new Map<string, number>();
  return (key) => {
    const name = read(key);
    let free = name;
    for (let number = used.get(name) ?? 1; used.has(free);) {
      number += 1;
      used.set(name, number);
      free = `${name} (${number})`;
    }
    used.set(free, 1);
    return free;
  };
}
