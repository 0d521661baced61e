/** Finds a person's names in a text or in JSON, and replaces them. */
import { cases, isUnspaced, spellings, type NameKind, type Sought } from './names.ts';

/** By kind of name; of those that are not here, the text stays. */
export type Replacements = Readonly<Partial<Record<NameKind, string>>>;

export interface Reading<T> {
  value: T;
  /** Names that were found, and those among them that stay. */
  found: number;
  left: number;
}

export interface NameFinder {
  readText(text: string): Reading<string>;
  /** With `keys` also in the names of fields, which only people's own data may change. */
  readJson(value: unknown, keys: boolean): Reading<unknown>;
}

/** A letter, a digit or a mark beside a name makes it a part of another word. */
const WORD = String.raw`[\p{L}\p{N}\p{M}]`;
/** JSON within a text writes a line break before a name with a letter. */
const BEGIN = String.raw`(?:(?<!${WORD})|(?<=\\[nrtbf]))`;
const END = `(?!${WORD})`;

export function createNameFinder({ names, others }: Sought, replacements: Replacements): NameFinder {
  const alternatives = [
    ...others.map((text) => ({ text, kind: null })),
    ...names.flatMap(({ kind, text }) => spellings(text).map((spelling) => ({ text: spelling, kind }))),
  ].toSorted((a, b) => b.text.length - a.text.length);
  const pattern = new RegExp(alternatives.map(({ text }) => `(${word(text)})`).join('|'), 'giu');

  const readText = (text: string): Reading<string> => {
    let [found, left] = [0, 0];
    const value = text.replace(pattern, (match, ...groups) => {
      // Of the groups exactly one has matched; after them come the position and the text.
      const kind = alternatives[groups.findIndex((group) => group !== undefined)]?.kind ?? null;
      if (kind === null) return match;
      const replacement = replacements[kind];
      found += 1;
      if (replacement === undefined) left += 1;
      return replacement ?? match;
    });
    return { value, found, left };
  };
  const readJson = (value: unknown, keys: boolean): Reading<unknown> => {
    if (typeof value === 'string') return readText(value);
    if (Array.isArray(value)) return together(value.map((entry) => readJson(entry, keys)));
    if (typeof value !== 'object' || value === null) return { value, found: 0, left: 0 };
    return readObject(Object.entries(value), keys);
  };
  const readObject = (entries: [string, unknown][], keys: boolean): Reading<unknown> => {
    const names = together(entries.map(([key]) => (keys ? readText(key) : nothingIn(key))));
    const values = together(entries.map(([, entry]) => readJson(entry, keys)));
    const renamed = distinct(names.value);
    return {
      value: Object.fromEntries(renamed.map((key, index) => [key, values.value[index]])),
      found: names.found + values.found,
      left: names.left + values.left,
    };
  };
  return { readText, readJson };
}

function nothingIn<T>(value: T): Reading<T> {
  return { value, found: 0, left: 0 };
}

function together<T>(readings: readonly Reading<T>[]): Reading<T[]> {
  return {
    value: readings.map(({ value }) => value),
    found: readings.reduce((sum, { found }) => sum + found, 0),
    left: readings.reduce((sum, { left }) => sum + left, 0),
  };
}

/** Two fields may have got the same name: no value is lost. */
function distinct(keys: readonly string[]): string[] {
  const used = new Set<string>();
  return keys.map((key) => {
    let free = key;
    for (let number = 2; used.has(free); number += 1) free = `${key} (${number})`;
    used.add(free);
    return free;
  });
}

function word(text: string): string {
  const characters = Array.from(text);
  const begin = isUnspaced(characters[0] ?? '') ? '' : BEGIN;
  const end = isUnspaced(characters.at(-1) ?? '') ? '' : END;
  const body = text.split(/(\s+)/).map((part) => (/^\s/.test(part) ? SPACE : escaped(part)));
  return `${begin}${body.join('')}${end}`;
}

/** Also where a line breaks within the name, and where JSON in a text says so. */
const SPACE = String.raw`(?:\s|\\+[nrt])+`;

function escaped(part: string): string {
  return Array.from(part, (character) => {
    if (character === '"') return String.raw`\\*"`;
    if (character === '\\') return String.raw`\\+`;
    if (character === '/') return String.raw`\\?\/`;
    if (/[A-Za-z0-9]/.test(character)) return character;
    if (character < '\u0080') return String.raw`\x${hex(character.charCodeAt(0), 2)}`;
    return `(?:${[character, ...cases(character).map(escapedInJson)].join('|')})`;
  }).join('');
}

/** As JSON in a text may write it. */
function escapedInJson(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => String.raw`\\+u${hex(unit, 4)}`).join('');
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
