/** Format strings (manual: Format strings and escaping). */
import { raise } from '../errors.ts';
import { checkString, SHIFT, tick, tickSize } from '../runtime.ts';
import { toJson, toText, typeError } from '../values/json.ts';
import type { Json } from '../values/json-types.ts';
import { decodeUtf8, utf8Bytes } from '../values/text.ts';
import { value, type Family } from './types.ts';

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

const html: Record<string, string> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', "'": '&apos;', '"': '&quot;' };
const tsv: Record<string, string> = { '\t': '\\t', '\r': '\\r', '\n': '\\n', '\\': '\\\\' };

function row(input: Json, kind: 'csv' | 'tsv'): string {
  if (!Array.isArray(input)) return typeError(input, `cannot be ${kind}-formatted, only array`);
  tick(input.length);
  return input
    .map((cell) => {
      if (cell === null || cell !== cell) return '';
      if (typeof cell === 'boolean' || typeof cell === 'number') return toJson(cell);
      if (typeof cell !== 'string') return typeError(cell, 'is not valid in a csv row');
      tickSize(cell.length, SHIFT.write);
      return kind === 'csv'
        ? `"${cell.replaceAll('"', '""')}"`
        : cell.replace(/[\t\r\n\\]/g, (char) => tsv[char] ?? char);
    })
    .join(kind === 'csv' ? ',' : '\t');
}

function shell(input: Json): string {
  const words = Array.isArray(input) ? input : [input];
  tickSize(words.length, 0);
  return words
    .map((word) => {
      if (typeof word === 'string') tickSize(word.length, SHIFT.write);
      if (typeof word === 'string') return `'${word.replaceAll("'", "'\\''")}'`;
      if (typeof word === 'object' && word !== null) return typeError(word, 'can not be escaped for shell');
      return toJson(word);
    })
    .join(' ');
}

/** How `@uri` writes each byte. */
const uriBytes: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  return /[A-Za-z0-9\-._~]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

function uri(text: string): string {
  let out = '';
  for (const byte of utf8Bytes(text)) out += uriBytes[byte] ?? '';
  return out;
}

function uriDecode(text: string): string {
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const point = text.codePointAt(i) ?? 0;
    if (point === 0x25) {
      const hex = text.slice(i + 1, i + 3);
      if (!/^[0-9a-fA-F]{2}$/.test(hex)) return typeError(text, 'is not a valid uri encoding');
      bytes.push(Number.parseInt(hex, 16));
      i += 2;
    } else {
      bytes.push(...utf8Bytes(String.fromCodePoint(point)));
      if (point > 0xffff) i++;
    }
  }
  return decodeUtf8(bytes, true) ?? typeError(text, 'is not a valid uri encoding');
}

function encodeBits(text: string, alphabet: string, bits: number, group: number): string {
  let out = '';
  let buffer = 0;
  let held = 0;
  for (const byte of utf8Bytes(text)) {
    buffer = ((buffer << 8) | byte) & 0xffff;
    held += 8;
    while (held >= bits) {
      held -= bits;
      out += alphabet[(buffer >> held) & ((1 << bits) - 1)] ?? '';
    }
  }
  if (held > 0) out += alphabet[(buffer << (bits - held)) & ((1 << bits) - 1)] ?? '';
  return out + '='.repeat((group - (out.length % group)) % group);
}

function base64Decode(text: string): string {
  const bytes: number[] = [];
  let buffer = 0;
  let held = 0;
  let count = 0;
  for (let i = 0; i < text.length && text[i] !== '='; i++) {
    const digit = BASE64.indexOf(text.charAt(i));
    if (digit < 0) return typeError(text, 'is not valid base64 data');
    buffer = ((buffer << 6) | digit) & 0xffff;
    held += 6;
    count++;
    if (held >= 8) {
      held -= 8;
      bytes.push((buffer >> held) & 255);
    }
  }
  if (count % 4 === 1) return typeError(text, 'trailing base64 byte found');
  return decodeUtf8(bytes, false) ?? '';
}

function base32Decode(text: string): string {
  const bytes: number[] = [];
  let buffer = 0;
  let held = 0;
  for (let i = 0; i < text.length && text[i] !== '='; i++) {
    const digit = BASE32.indexOf(text.charAt(i));
    if (digit < 0) return typeError(text, 'is not valid base32 data');
    buffer = ((buffer << 5) | digit) & 0xffff;
    held += 5;
    if (held >= 8) {
      held -= 8;
      bytes.push((buffer >> held) & 255);
    }
  }
  return decodeUtf8(bytes, false) ?? '';
}

/** Applies `@name` to a value. */
export function applyFormat(name: string, input: Json): string {
  const result = format(name, input);
  checkString(result.length);
  tick(result.length >> 4);
  return result;
}

/** The text that a format writes anew, counted before. */
function textOf(input: Json): string {
  const text = toText(input);
  tickSize(text.length, SHIFT.write);
  return text;
}

function format(name: string, input: Json): string {
  switch (name) {
    case 'text':
      return toText(input);
    case 'json':
      return toJson(input);
    case 'csv':
    case 'tsv':
      return row(input, name);
    case 'html':
      return textOf(input).replace(/[<>&'"]/g, (char) => html[char] ?? char);
    case 'uri':
      return uri(textOf(input));
    case 'urid':
      return uriDecode(textOf(input));
    case 'sh':
      return shell(input);
    case 'base64':
      return encodeBits(textOf(input), BASE64, 6, 4);
    case 'base64d':
      return base64Decode(textOf(input));
    case 'base32':
      return encodeBits(textOf(input), BASE32, 5, 8);
    case 'base32d':
      return base32Decode(textOf(input));
    default:
      return raise(`${name} is not a valid format`);
  }
}

export const formats: Family = {
  'format/1': value((input, name) =>
    typeof name === 'string' ? applyFormat(name, input) : typeError(name ?? null, 'is not a valid format'),
  ),
};
