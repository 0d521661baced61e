/** Reads JSON with the place of each part and problems in sentences, and lays it out anew. */
import { pointerAt, type Places, type ReadText, type TextProblem } from './places.ts';

const TOKEN = /\s*(?:([{}[\]:,])|("(?:[^"\\\n]|\\.)*")|([^\s{}[\]:,"]+)|(")|$)/y;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const WORDS: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };
/** Deeper texts are refused by the server too. */
const MAX_DEPTH = 200;

export interface Token {
  /** A punctuation mark, `"` for a text, `a` for a number or word, `?` for an open text, '' for the end. */
  kind: string;
  text: string;
  from: number;
  to: number;
}

class Refusal extends Error {
  readonly problem: TextProblem;

  constructor({ from, to }: { from: number; to: number }, message: string) {
    super(message);
    this.problem = { from, to, message };
  }
}

export function readJson(text: string): ReadText {
  const reader = new Reader(text);
  try {
    const value = reader.whole();
    return { value, places: reader.places, problems: reader.problems };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { places: reader.places, problems: [error.problem] };
  }
}

class Reader {
  readonly places: Places = new Map();
  /** Mistakes that leave a value. */
  readonly problems: TextProblem[] = [];
  readonly #text: string;
  #token: Token;

  constructor(text: string) {
    this.#text = text;
    this.#token = tokenAt(text, 0);
  }

  whole(): unknown {
    if (this.#token.kind === '') throw new Refusal(this.#token, 'The text is empty.');
    const value = this.#value('', null, 0);
    if (this.#token.kind !== '') throw new Refusal(this.#token, 'The text goes on after its end.');
    return value;
  }

  #next(): Token {
    const token = this.#token;
    this.#token = tokenAt(this.#text, token.to);
    return token;
  }

  #value(pointer: string, name: Token | null, depth: number): unknown {
    if (depth > MAX_DEPTH) throw new Refusal(this.#token, 'This is nested too deep.');
    const token = this.#next();
    const opens = token.kind === '{' || token.kind === '[';
    const start = name?.from ?? token.from;
    // Reserved first, so that the places stand in the order of the text.
    const place = { from: start, to: opens && name !== null ? name.to : token.to, start, end: token.to };
    this.places.set(pointer, place);
    if (opens) {
      const value =
        token.kind === '{' ? this.#object(pointer, depth, token) : this.#list(pointer, depth, token);
      place.end = value.end;
      return value.value;
    }
    return plain(token);
  }

  #object(pointer: string, depth: number, open: Token): { value: unknown; end: number } {
    const entries = new Map<string, unknown>();
    while (this.#token.kind !== '}') {
      const name = this.#next();
      if (name.kind !== '"') throw unexpected(name, open, 'a name in quotation marks');
      const key = textOf(name);
      const colon = this.#next();
      if (colon.kind !== ':') throw new Refusal(name, `A colon is missing after ${name.text}.`);
      if (entries.has(key))
        this.problems.push({ ...rangeOf(name), message: `${name.text} is here twice; the last one counts.` });
      entries.set(key, this.#value(pointerAt(pointer, key), name, depth + 1));
      this.#comma('}', open);
    }
    return { value: Object.fromEntries(entries), end: this.#next().to };
  }

  #list(pointer: string, depth: number, open: Token): { value: unknown; end: number } {
    const items: unknown[] = [];
    while (this.#token.kind !== ']') {
      items.push(this.#value(pointerAt(pointer, items.length), null, depth + 1));
      this.#comma(']', open);
    }
    return { value: items, end: this.#next().to };
  }

  #comma(close: string, open: Token): void {
    if (this.#token.kind === close) return;
    const comma = this.#token;
    if (comma.kind !== ',') throw unexpected(comma, open, 'a comma');
    this.#next();
    if (this.#token.kind === close) throw new Refusal(comma, 'This comma is one too many.');
  }
}

function rangeOf({ from, to }: Token): { from: number; to: number } {
  return { from, to };
}

function unexpected(token: Token, open: Token, wanted: string): Refusal {
  if (token.kind === '') return new Refusal(open, `This ${open.kind} is not closed.`);
  if (token.kind === '?') return new Refusal(token, 'This text is not closed: a " is missing.');
  return new Refusal(token, `Expected ${wanted}, not ${token.text}`);
}

function plain(token: Token): unknown {
  switch (token.kind) {
    case '"':
      return textOf(token);
    case 'a':
      if (NUMBER.test(token.text)) return Number(token.text);
      if (Object.hasOwn(WORDS, token.text)) return WORDS[token.text];
      throw new Refusal(token, `${token.text} is no value: a text needs quotation marks.`);
    case '?':
      throw new Refusal(token, 'This text is not closed: a " is missing.');
    case '':
      throw new Refusal(token, 'A value is missing at the end.');
    default:
      throw new Refusal(token, `A value is missing before ${token.text}`);
  }
}

function textOf(token: Token): string {
  try {
    return String(JSON.parse(token.text));
  } catch {
    throw new Refusal(token, 'This text has a character or an escape that JSON does not allow.');
  }
}

/** The token at or after a position, also of a text that is broken. */
export function tokenAt(text: string, offset: number): Token {
  TOKEN.lastIndex = offset;
  const found = TOKEN.exec(text);
  const [whole = '', mark, quoted, word, open] = found ?? [];
  const to = offset + whole.length;
  const content = mark ?? quoted ?? word ?? open ?? '';
  if (open !== undefined) {
    const end = text.indexOf('\n', to);
    return { kind: '?', text: open, from: to - 1, to: end < 0 ? text.length : end };
  }
  const kind = mark ?? (quoted === undefined ? (word === undefined ? '' : 'a') : '"');
  return { kind, text: content, from: to - content.length, to };
}

/** The text with one entry a line. Numbers and texts stay as they are written. */
export function layOutJson(text: string): string {
  let [result, depth] = ['', 0];
  let last = '';
  for (let token = tokenAt(text, 0); token.kind !== ''; token = tokenAt(text, token.to)) {
    const { kind } = token;
    const isOpen = last === '{' || last === '[';
    const closes = kind === '}' || kind === ']';
    if (closes) depth -= 1;
    const breaks = closes ? !isOpen : kind !== ',' && kind !== ':' && (isOpen || last === ',');
    if (breaks) result += `\n${'  '.repeat(Math.max(0, depth))}`;
    else if (last === ':') result += ' ';
    result += token.text;
    if (kind === '{' || kind === '[') depth += 1;
    last = kind;
  }
  return `${result}\n`;
}
