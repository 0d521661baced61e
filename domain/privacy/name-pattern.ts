/**
 * The regular expression for one name in a text. Names are chosen by people and texts are written by people:
 * no two parts that follow each other match the same characters, so no text takes more than linear time.
 */

const UNSPACED = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao'].map((script) => `\\p{Script=${script}}`);
const ONLY_UNSPACED = new RegExp(`^[${UNSPACED.join('')}]+$`, 'u');

/** A letter, a digit or a mark beside a name makes it a part of another word. */
const WORD = String.raw`[\p{L}\p{N}\p{M}]`;
/** JSON within a text writes a line break before a name with a letter. */
const BEGIN = String.raw`(?:(?<!${WORD})|(?<=\\[nrtbf]))`;
const END = `(?!${WORD})`;

/** An id, whose parts are no names. */
export const UUID_PATTERN = String.raw`(?<!${WORD})[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}${END}`;

/** For the flags `iu`. */
function wordPattern(text: string): string {
  return wordParts(text).join('');
}

/** The parts of the pattern of one name, in their order; names that begin alike have the same first parts. */
export function wordParts(text: string): string[] {
  const characters = Array.from(text);
  const begin = isUnspaced(characters[0] ?? '') ? '' : BEGIN;
  const end = isUnspaced(characters.at(-1) ?? '') ? '' : END;
  const space = text.includes('\\') ? PLAIN_SPACE : SPACE;
  const parts =
    characters
      .map(inLowerCase)
      .join('')
      .match(/\s+|\\+|[^\s\\]/gu) ?? [];
  const body = parts.map((part, index) => {
    if (/^\s/.test(part)) return space;
    if (part.startsWith('\\')) return String.raw`\\+`;
    return escaped(part, parts[index - 1]?.startsWith('\\') === true);
  });
  // What begins with backslashes begins with all of them, so that each row of them is read once.
  const whole = /^[\\"]/.test(text) || text > '\u0080' ? String.raw`(?<!\\(?=\\))` : '';
  return [`${begin}${whole}`, ...body, end];
}

/** Names in other cases have the same parts. */
function inLowerCase(character: string): string {
  const lower = character.toLowerCase();
  const isAlike = lower.length === character.length && isAscii(lower) === isAscii(character);
  return isAlike ? lower : character;
}

function isAscii(character: string): boolean {
  return character < '\u0080';
}

/** Whether a text is the name, or has it as a word. */
export interface NameTest {
  isSame: (other: string) => boolean;
  isIn: (other: string) => boolean;
}

export function nameTest(text: string): NameTest {
  const words = spellings(text).map(wordPattern).join('|');
  const [whole, part] = [new RegExp(`^(?:${words})$`, 'iu'), new RegExp(words, 'iu')];
  return { isSame: (other) => whole.test(other), isIn: (other) => part.test(other) };
}

/** In scripts without spaces a name stands between other letters. */
export function isUnspaced(text: string): boolean {
  return ONLY_UNSPACED.test(text);
}

/** The same letters can be written with combined and with single characters. */
export function spellings(text: string): string[] {
  return [...new Set([text, text.normalize('NFC'), text.normalize('NFD')])];
}

/** The character in lower and in upper case, where that is one character too. */
export function cases(character: string): string[] {
  const all = [character, character.toLowerCase(), character.toUpperCase()];
  return [...new Set(all)].filter((one) => one.length === character.length);
}

/** Also where a line breaks within the name, and where JSON in a text says so. */
const SPACE = String.raw`(?:\s|\\+[nrt])+`;
/** In names with backslashes, which could be taken for those of JSON. */
const PLAIN_SPACE = String.raw`\s+`;

/** As it is, and as JSON in a text may write it: with backslashes, unless the name has some before it. */
function escaped(character: string, followsBackslash: boolean): string {
  if (character === '"') return followsBackslash ? '"' : String.raw`\\*"`;
  if (character === '/') return followsBackslash ? String.raw`\/` : String.raw`\\?\/`;
  if (/[A-Za-z0-9]/.test(character)) return character;
  if (character < '\u0080') return String.raw`\x${hex(character.charCodeAt(0), 2)}`;
  const written = cases(character).map((one) => escapedInJson(one, followsBackslash));
  return `(?:${[character, ...written].join('|')})`;
}

function escapedInJson(character: string, followsBackslash: boolean): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units
    .map((unit, index) => `${followsBackslash && index === 0 ? '' : String.raw`\\+`}u${hex(unit, 4)}`)
    .join('');
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
