/** Strings as sequences of code points: jq counts and cuts in code points, JavaScript in UTF-16 units. */

import { SHIFT, tickSize } from '../runtime.ts';

/** True when the text has a unit above U+D7FF, so that units and code points may differ. */
function mayHavePairs(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0xd800) return true;
  return false;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Number of code points. */
export function codePointLength(text: string): number {
  tickSize(text.length, SHIFT.scan);
  let n = text.length;
  for (let i = 0; i + 1 < text.length; i++) {
    if (isHigh(text.charCodeAt(i)) && isLow(text.charCodeAt(i + 1))) {
      n--;
      i++;
    }
  }
  return n;
}

/** Offset in units of the code point number `index` (clamped to the end). */
function unitOffset(text: string, index: number): number {
  let i = 0;
  for (let n = 0; n < index && i < text.length; n++) {
    i += isHigh(text.charCodeAt(i)) && isLow(text.charCodeAt(i + 1)) ? 2 : 1;
  }
  return i;
}

/** The code points from `start` up to `end`. */
export function sliceCodePoints(text: string, start: number, end: number): string {
  if (!mayHavePairs(text)) return text.slice(start, end);
  return text.slice(unitOffset(text, start), unitOffset(text, end));
}

/** The code points as numbers. */
export function codePoints(text: string): number[] {
  const out: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const point = text.codePointAt(i) ?? 0;
    out.push(point);
    if (point > 0xffff) i++;
  }
  return out;
}

/** Number of bytes in UTF-8. */
export function utf8Length(text: string): number {
  tickSize(text.length, SHIFT.scan);
  let n = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) n += 1;
    else if (unit < 0x800) n += 2;
    else if (isHigh(unit) && isLow(text.charCodeAt(i + 1))) {
      n += 4;
      i++;
    } else n += 3;
  }
  return n;
}

/** The UTF-8 bytes of the text; an unpaired surrogate becomes U+FFFD. */
export function utf8Bytes(text: string): number[] {
  const out: number[] = [];
  for (let i = 0; i < text.length; i++) {
    let point = text.codePointAt(i) ?? 0;
    if (point > 0xffff) i++;
    else if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
    if (point < 0x80) out.push(point);
    else if (point < 0x800) out.push(0xc0 | (point >> 6), 0x80 | (point & 63));
    else if (point < 0x10000) out.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63));
    else
      out.push(
        0xf0 | (point >> 18),
        0x80 | ((point >> 12) & 63),
        0x80 | ((point >> 6) & 63),
        0x80 | (point & 63),
      );
  }
  return out;
}

/** Decodes UTF-8. Bad sequences become U+FFFD, or make the result null when `strict`. */
export function decodeUtf8(bytes: readonly number[], strict: boolean): string | null {
  let out = '';
  for (let i = 0; i < bytes.length;) {
    const lead = bytes[i] ?? 0;
    const size =
      lead < 0x80
        ? 1
        : lead >= 0xc2 && lead < 0xe0
          ? 2
          : lead >= 0xe0 && lead < 0xf0
            ? 3
            : lead >= 0xf0 && lead < 0xf5
              ? 4
              : 0;
    let point = size === 1 ? lead : size === 0 ? -1 : lead & (0xff >> (size + 1));
    let used = 1;
    for (; point >= 0 && used < size; used++) {
      const next = bytes[i + used];
      if (next === undefined || (next & 0xc0) !== 0x80) {
        point = -1;
        break;
      }
      point = (point << 6) | (next & 63);
    }
    const tooShort = (size === 3 && point < 0x800) || (size === 4 && point < 0x10000);
    if (point < 0 || tooShort || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
      if (strict) return null;
      out += '\ufffd';
    } else out += String.fromCodePoint(point);
    i += Math.max(used, 1);
  }
  return out;
}

/** Characters of texts in order that are counted at once. */
const BLOCK = 256;

/** `===` for texts. */
export function isSameText(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  tickSize(a.length, SHIFT.memory);
  return a === b;
}

/** Order of two texts by their code points, as jq orders strings (by UTF-8 bytes). */
export function compareText(a: string, b: string): number {
  if (isSameText(a, b)) return 0;
  const common = Math.min(a.length, b.length);
  for (let i = 0; i < common; i++) {
    // Most texts differ early, so only what is read is counted.
    if ((i & (BLOCK - 1)) === BLOCK - 1) tickSize(BLOCK, SHIFT.scan);
    let left = a.charCodeAt(i);
    let right = b.charCodeAt(i);
    if (left === right) continue;
    // Units of pairs stand for code points above every unit outside the surrogate range.
    if (left >= 0xd800 && right >= 0xd800) {
      left = left >= 0xe000 ? left - 0x800 : left + 0x2000;
      right = right >= 0xe000 ? right - 0x800 : right + 0x2000;
    }
    return left - right;
  }
  return a.length - b.length;
}

/** White space as `trim` sees it (jv_unicode.c). */
export function isWhitespace(unit: number): boolean {
  return (
    (unit >= 9 && unit <= 13) ||
    unit === 0x20 ||
    unit === 0x85 ||
    unit === 0xa0 ||
    unit === 0x1680 ||
    (unit >= 0x2000 && unit <= 0x200a) ||
    unit === 0x2028 ||
    unit === 0x2029 ||
    unit === 0x202f ||
    unit === 0x205f ||
    unit === 0x3000
  );
}
