/**
 * The JSON reader for `fromjson` and string literals. The host's parser handles the usual case. Text that it
 * rejects is parsed again by jq's rules, which accept `nan` and give jq's messages.
 */
import { raise } from '../errors.ts';
import { runtime, SHIFT, tick, tickSize } from '../runtime.ts';
import type { Json, JsonObject } from './json-types.ts';
import { parseNumber } from './numbers.ts';
import { putKey } from './objects.ts';
import { utf8Length } from './text.ts';

const { rt } = runtime;

/** Parses one JSON value; raises jq's error. */
export function fromJson(text: string): Json {
  tick(text.length >> 4);
  tickSize(text.length, SHIFT.scan);
  if (!tooDeep(text)) {
    try {
      const value: Json = JSON.parse(text);
      // Only a long number can overflow to an infinity.
      if (/[eE]\+?\d{3}|(?<!\d)\d{300}/.test(text)) rt.nonFinite = true;
      return value;
    } catch {
      // Read again below, by jq's rules.
    }
  }
  tickSize(text.length, SHIFT.build);
  const reader = new Reader(text);
  try {
    return reader.read();
  } catch (error) {
    if (error instanceof Complaint) raise(`${error.message} (while parsing '${text}')`);
    throw error;
  }
}

function tooDeep(text: string): boolean {
  if (text.length <= rt.limits.depth) return false;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (inString) {
      if (unit === 0x5c) i++;
      else if (unit === 0x22) inString = false;
    } else if (unit === 0x22) inString = true;
    else if (unit === 0x5b || unit === 0x7b) {
      if (++depth > rt.limits.depth) return true;
    } else if (unit === 0x5d || unit === 0x7d) depth--;
  }
  return false;
}

class Complaint extends Error {}

const STRUCTURE = new Set(['[', ']', '{', '}', ',', ':']);
const BLANKS = new Set([' ', '\t', '\r', '\n']);

/** jq's push-down parser (jv_parse.c), one token at a time, so that its messages match jq's. */
class Reader {
  private readonly stack: (Json[] | JsonObject | string)[] = [];
  private next: Json | undefined;
  private token = '';
  private line = 1;
  private column = 0;
  private values = 0;
  private result: Json = null;
  private readonly text: string;

  constructor(text: string) {
    this.text = text.startsWith('\ufeff') ? text.slice(1) : text;
  }

  read(): Json {
    let inString = false;
    let escaped = false;
    for (const char of this.text) {
      this.column += utf8Length(char);
      if (char === '\n') {
        this.line++;
        this.column = 0;
      }
      if (inString) {
        if (char === '"' && !escaped) {
          this.value(this.unescape(this.token));
          this.token = '';
          inString = false;
          this.done();
        } else {
          this.token += char;
          escaped = char === '\\' && !escaped;
        }
        continue;
      }
      if (char !== '"' && !STRUCTURE.has(char) && !BLANKS.has(char)) {
        this.token += char;
        continue;
      }
      this.literal('');
      this.done();
      if (char === '"') inString = true;
      else if (STRUCTURE.has(char)) this.structure(char);
      this.done();
    }
    if (inString) this.fail('Unfinished string', ' EOF at');
    this.literal(' EOF at');
    if (this.stack.length > 0) this.fail('Unfinished JSON term', ' EOF at');
    this.done();
    if (this.values === 0) throw new Complaint('Expected JSON value');
    return this.result;
  }

  private fail(message: string, where = ''): never {
    throw new Complaint(`${message} at${where} line ${this.line}, column ${this.column}`);
  }

  private done(): void {
    if (this.stack.length > 0 || this.next === undefined) return;
    if (++this.values > 1) throw new Complaint('Unexpected extra JSON values');
    this.result = this.next;
    this.next = undefined;
  }

  private value(value: Json): void {
    if (this.next !== undefined) this.fail('Expected separator between values');
    this.next = value;
  }

  private literal(where: string): void {
    const token = this.token;
    if (token === '') return;
    this.token = '';
    const first = token.charAt(0);
    if (first === "'") this.fail('Invalid string literal; expected ", but got \'', where);
    const word = first === 't' ? 'true' : first === 'f' ? 'false' : token.startsWith('nu') ? 'null' : '';
    if (word) {
      if (token !== word) this.fail('Invalid literal', where);
      this.value(word === 'null' ? null : word === 'true');
      return;
    }
    const number = parseNumber(token);
    if (number === undefined) this.fail('Invalid numeric literal', where);
    if (!Number.isFinite(number)) rt.nonFinite = true;
    this.value(number);
  }

  private structure(char: string): void {
    const top = this.stack[this.stack.length - 1];
    const next = this.next;
    if (char === '[' || char === '{') {
      if (this.stack.length >= rt.limits.depth) this.fail('Exceeds depth limit for parsing');
      if (next !== undefined) this.fail('Expected separator between values');
      this.stack.push(char === '[' ? [] : {});
    } else if (char === ':') {
      if (next === undefined) this.fail("Expected string key before ':'");
      if (top === undefined || typeof top === 'string' || Array.isArray(top))
        this.fail("':' not as part of an object");
      if (typeof next !== 'string') this.fail('Object keys must be strings');
      this.stack.push(next);
      this.next = undefined;
    } else if (char === ',') {
      if (next === undefined) this.fail("Expected value before ','");
      if (top === undefined) this.fail("',' not as part of an object or array");
      if (typeof top !== 'string' && !Array.isArray(top))
        this.fail('Objects must consist of key:value pairs');
      this.store(next);
    } else if (char === ']') {
      if (!Array.isArray(top)) this.fail("Unmatched ']'");
      if (next !== undefined) this.store(next);
      else if (top.length > 0) this.fail('Expected another array element');
      this.next = this.stack.pop();
    } else {
      if (top === undefined) this.fail("Unmatched '}'");
      if (next !== undefined) {
        if (typeof top !== 'string') this.fail('Objects must consist of key:value pairs');
        this.store(next);
      } else {
        if (typeof top === 'string' || Array.isArray(top)) this.fail("Unmatched '}'");
        if (Object.keys(top).length > 0) this.fail('Expected another key-value pair');
      }
      this.next = this.stack.pop();
    }
  }

  /** Puts a finished value into the container on top of the stack. */
  private store(value: Json): void {
    const top = this.stack[this.stack.length - 1];
    if (Array.isArray(top)) top.push(value);
    else if (typeof top === 'string') {
      this.stack.pop();
      const object = this.stack[this.stack.length - 1];
      if (typeof object === 'object' && !Array.isArray(object)) putKey(object, top, value);
    }
    this.next = undefined;
  }

  private unescape(raw: string): string {
    const result = unescapeString(raw);
    if (typeof result !== 'string') this.fail(result.problem);
    return result;
  }
}

const escapes: Record<string, string> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** Resolves the escapes of a string's inside, or says what is wrong with them. */
export function unescapeString(raw: string, allowControl = false): string | { problem: string } {
  let out = '';
  for (let i = 0; i < raw.length; i++) {
    const char = raw.charAt(i);
    if (char !== '\\') {
      if (!allowControl && char < ' ')
        return { problem: 'Invalid string: control characters from U+0000 through U+001F must be escaped' };
      out += char;
      continue;
    }
    const name = raw.charAt(++i);
    const plain = escapes[name];
    if (plain !== undefined) out += plain;
    else if (name === 'u') {
      const hex = raw.slice(i + 1, i + 5);
      if (hex.length < 4) return { problem: 'Invalid \\uXXXX escape' };
      if (!/^[0-9a-fA-F]{4}$/.test(hex)) return { problem: 'Invalid characters in \\uXXXX escape' };
      const unit = Number.parseInt(hex, 16);
      i += 4;
      if (unit >= 0xd800 && unit <= 0xdbff) {
        const low = /^\\u([dD][c-fC-F][0-9a-fA-F]{2})/.exec(raw.slice(i + 1, i + 7));
        if (!low?.[1]) return { problem: 'Invalid \\uXXXX\\uXXXX surrogate pair escape' };
        out += String.fromCharCode(unit, Number.parseInt(low[1], 16));
        i += 6;
      } else out += unit >= 0xdc00 && unit <= 0xdfff ? '\ufffd' : String.fromCharCode(unit);
    } else return { problem: 'Invalid escape' };
  }
  return out;
}
