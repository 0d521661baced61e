/** Escapes that stand for one character or for a set of them. */
import { isDigit, isSpace, isWord, not, unicodeProperty } from './classes.ts';
import { RegexError } from './error.ts';
import type { Test } from './ast.ts';
import type { PatternReader } from './reader.ts';

const controls: Record<string, number> = { t: 9, n: 10, r: 13, f: 12, v: 11, a: 7, e: 27 };

/** The set of `\w`, `\p{…}` and the like; null, with nothing taken, when the escape is another. */
export function escapeSet(reader: PatternReader): Test | null {
  const char = reader.peek();
  switch (char) {
    case 'w':
    case 'W':
    case 'd':
    case 'D':
    case 's':
    case 'S': {
      reader.take();
      const lower = char.toLowerCase();
      const test = lower === 'w' ? isWord : lower === 'd' ? isDigit : isSpace;
      return lower === char ? test : not(test);
    }
    case 'N':
      reader.take();
      return (point) => point !== 10;
    case 'O':
      reader.take();
      return () => true;
    case 'p':
    case 'P': {
      if (reader.peek(1) !== '{') return null;
      reader.take();
      reader.take();
      const name = reader.until('}');
      if (name === null) throw new RegexError('invalid character property name {}');
      const test = unicodeProperty(name.replaceAll(/[\s-]/g, ''));
      return char === 'p' ? test : not(test);
    }
    default:
      return null;
  }
}

/** The code point of an escape whose backslash has been taken. */
export function readEscape(reader: PatternReader): number {
  const char = reader.take();
  const control = Object.hasOwn(controls, char) ? controls[char] : undefined;
  if (control !== undefined) return control;
  const digits = (pattern: RegExp, max: number): string => {
    let text = '';
    while (text.length < max && pattern.test(reader.peek())) text += reader.take();
    return text;
  };
  if (char === 'x') {
    if (reader.accept('{')) {
      const text = reader.until('}') ?? '';
      const point = /^[0-9a-fA-F]{1,8}$/.test(text) ? Number.parseInt(text, 16) : -1;
      if (point < 0 || point > 0x10ffff) throw new RegexError('invalid code point value');
      return point;
    }
    return Number.parseInt(digits(/^[0-9a-fA-F]$/, 2) || '0', 16);
  }
  if (char === 'u') {
    const start = reader.at;
    const text = digits(/^[0-9a-fA-F]$/, 4);
    if (text.length === 4) return Number.parseInt(text, 16);
    reader.at = start;
    return 117;
  }
  if (char === '0') return Number.parseInt(digits(/^[0-7]$/, 2) || '0', 8);
  if (char === 'c') return (reader.take().codePointAt(0) ?? 0) & 31;
  if (char === '') throw new RegexError('end pattern at escape');
  return char.codePointAt(0) ?? 0;
}
