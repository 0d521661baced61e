/** Sets of characters: shorthands, POSIX brackets, Unicode properties, case folding. */
import { RegexError } from './error.ts';
import type { Test } from './ast.ts';

/** Tests one code point by one of the host's Unicode properties; bounded, as it sees one character. */
function property(pattern: RegExp, most = 4096): Test {
  const known = new Map<number, boolean>();
  return (point) => {
    let result = known.get(point);
    if (result === undefined) {
      result = pattern.test(String.fromCodePoint(point));
      if (known.size < most) known.set(point, result);
    }
    return result;
  };
}

const letterLike = property(/^[\p{L}\p{M}\p{Nd}\p{Pc}]$/u);
const decimal = property(/^\p{Nd}$/u);

export function isWord(point: number): boolean {
  if (point < 128)
    return (
      (point >= 97 && point <= 122) ||
      (point >= 65 && point <= 90) ||
      (point >= 48 && point <= 57) ||
      point === 95
    );
  return letterLike(point);
}

export function isDigit(point: number): boolean {
  return point < 128 ? point >= 48 && point <= 57 : decimal(point);
}

export function isSpace(point: number): boolean {
  return (
    (point >= 9 && point <= 13) ||
    point === 32 ||
    point === 0x85 ||
    point === 0xa0 ||
    point === 0x1680 ||
    (point >= 0x2000 && point <= 0x200a) ||
    point === 0x2028 ||
    point === 0x2029 ||
    point === 0x202f ||
    point === 0x205f ||
    point === 0x3000
  );
}

const parts = new WeakMap<Test, number>();

/** How many sets the test of one character asks, as far as that matters; 1 for fewer than eight. */
export function partsOf(test: Test): number {
  const count = parts.get(test) ?? 1;
  return count < 8 ? 1 : count;
}

/** The test, which asks as many sets. */
export function ofParts(test: Test, count: number): Test {
  parts.set(test, count);
  return test;
}

const negated = new WeakMap<Test, Test>();

export function not(test: Test): Test {
  let result = negated.get(test);
  if (result === undefined) {
    result = ofParts((point) => !test(point), parts.get(test) ?? 1);
    negated.set(test, result);
  }
  return result;
}

function ascii(from: string, to: string): Test {
  const [low, high] = [from.charCodeAt(0), to.charCodeAt(0)];
  return (point) => point >= low && point <= high;
}

const posix: Record<string, Test> = {
  alnum: property(/^[\p{Alphabetic}\p{M}\p{Nd}]$/u),
  alpha: property(/^[\p{Alphabetic}\p{M}]$/u),
  ascii: (point) => point < 128,
  blank: property(/^[\p{Zs}\t]$/u),
  cntrl: property(/^[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}]$/u),
  digit: isDigit,
  graph: property(/^[^\p{White_Space}\p{Cc}\p{Cn}\p{Cs}]$/u),
  lower: property(/^\p{Lowercase}$/u),
  print: property(/^(?:[^\p{White_Space}\p{Cc}\p{Cn}\p{Cs}]|\p{Zs})$/u),
  punct: property(/^[\p{P}$+<=>^`|~]$/u),
  space: isSpace,
  upper: property(/^\p{Uppercase}$/u),
  xdigit: (point) => ascii('0', '9')(point) || ascii('a', 'f')(point) || ascii('A', 'F')(point),
  word: isWord,
};

/** The class of `[:name:]`, or undefined. */
export function posixClass(name: string): Test | undefined {
  return Object.hasOwn(posix, name) ? posix[name] : undefined;
}

const properties = new Map<string, Test>();

/** The class of `\p{name}`: a POSIX name, a general category, a script or a binary property. */
export function unicodeProperty(name: string): Test {
  const negated = name.startsWith('^');
  const plain = negated ? name.slice(1) : name;
  let test = posixClass(plain.toLowerCase()) ?? properties.get(plain);
  if (test === undefined) {
    if (plain.toLowerCase() === 'any') test = () => true;
    else if (/^[A-Za-z_]{1,40}$/.test(plain)) {
      const spelled = plain.charAt(0).toUpperCase() + plain.slice(1);
      for (const candidate of [plain, spelled, `Script=${plain}`, `Script=${spelled}`]) {
        try {
          // Those that are not kept remember little: a class may have a thousand of them.
          test = property(new RegExp(`^\\p{${candidate}}$`, 'u'), properties.size < 200 ? 4096 : 64);
          break;
        } catch {
          // Not a property of this spelling.
        }
      }
    }
    if (test === undefined) throw new RegexError(`invalid character property name {${name.slice(0, 60)}}`);
    if (properties.size < 200) properties.set(plain, test);
  }
  return negated ? not(test) : test;
}

function singlePoint(text: string): number | undefined {
  const point = text.codePointAt(0);
  return point !== undefined && text.length === (point > 0xffff ? 2 : 1) ? point : undefined;
}

const folded = new Map<number, number>();

/** The representative of all code points that differ in case only. */
export function fold(point: number): number {
  if (point < 128) return point >= 65 && point <= 90 ? point + 32 : point;
  const known = folded.get(point);
  if (known !== undefined) return known;
  const upper = singlePoint(String.fromCodePoint(point).toUpperCase()) ?? point;
  const result = singlePoint(String.fromCodePoint(upper).toLowerCase()) ?? upper;
  if (folded.size < 4096) folded.set(point, result);
  return result;
}

/** A set that ignores case. */
export function foldSet(test: Test): Test {
  const either: Test = (point) => {
    if (test(point)) return true;
    const text = String.fromCodePoint(point);
    const lower = singlePoint(text.toLowerCase());
    const upper = singlePoint(text.toUpperCase());
    return (lower !== undefined && test(lower)) || (upper !== undefined && test(upper));
  };
  return ofParts(either, parts.get(test) ?? 1);
}
