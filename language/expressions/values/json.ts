/** JSON text: `tojson`, the shortened dumps of error messages, `fromjson` (manual: Convert to/from JSON). */
import { raise } from '../errors.ts';
import { checkString, exceed, runtime, SHIFT, tick, tickSize } from '../runtime.ts';
import { kindOf, type Json } from './json-types.ts';
import { formatNumber } from './numbers.ts';
import { keysOf } from './objects.ts';
import { sliceCodePoints, utf8Length } from './text.ts';

const { rt } = runtime;

// oxlint-disable-next-line no-control-regex -- control characters are what must be escaped
const SPECIAL = /["\\\u0000-\u001f\u007f]/;
const short: Record<string, string> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** A string as JSON text, with the escapes that jq chooses. */
function quote(text: string): string {
  tickSize(text.length, SHIFT.scan);
  if (!SPECIAL.test(text)) return `"${text}"`;
  tickSize(text.length, SHIFT.write);
  let out = '"';
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x20 && unit !== 0x22 && unit !== 0x5c && unit !== 0x7f) continue;
    const char = text.charAt(i);
    out += text.slice(from, i) + (short[char] ?? `\\u${unit.toString(16).padStart(4, '0')}`);
    from = i + 1;
  }
  return `${out}${text.slice(from)}"`;
}

function scalar(value: Json): string {
  switch (typeof value) {
    case 'string':
      return quote(value);
    case 'number':
      return formatNumber(value);
    case 'boolean':
      return value ? 'true' : 'false';
    default:
      return 'null';
  }
}

/** A value as compact JSON text. NaN is null, infinities are the largest double. */
export function toJson(value: Json, depth = 0): string {
  if (typeof value !== 'object' || value === null) return scalar(value);
  if (depth > 100 || depth >= rt.limits.depth) return toJsonDeep(value, depth);
  let out = '';
  if (Array.isArray(value)) {
    tick(value.length + 1);
    for (let i = 0; i < value.length; i++) {
      if (i > 0) out += ',';
      const element = value[i] ?? null;
      out += typeof element === 'object' ? toJson(element, depth + 1) : scalar(element);
      if (out.length > rt.limits.stringLength) checkString(out.length);
    }
    return `[${out}]`;
  }
  const keys = keysOf(value);
  tick(keys.length + 1);
  for (const key of keys) {
    if (out !== '') out += ',';
    out += `${quote(key)}:${toJson(value[key] ?? null, depth + 1)}`;
    if (out.length > rt.limits.stringLength) checkString(out.length);
  }
  return `{${out}}`;
}

function toJsonDeep(root: Json, base: number): string {
  const stack: { value: Json[] | Record<string, Json>; keys: string[] | null; next: number }[] = [];
  let out = '';
  let current: Json = root;
  for (;;) {
    tick(1);
    if (typeof current === 'object' && current !== null) {
      if (base + stack.length >= rt.limits.depth) exceed('depth');
      stack.push({ value: current, keys: Array.isArray(current) ? null : keysOf(current), next: 0 });
      out += Array.isArray(current) ? '[' : '{';
    } else out += scalar(current);
    checkString(out.length);
    for (;;) {
      const top = stack[stack.length - 1];
      if (!top) return out;
      const index = top.next++;
      if (Array.isArray(top.value)) {
        if (index < top.value.length) {
          if (index > 0) out += ',';
          current = top.value[index] ?? null;
          break;
        }
        out += ']';
      } else {
        const key = top.keys?.[index];
        if (key !== undefined) {
          out += `${index > 0 ? ',' : ''}${quote(key)}:`;
          current = top.value[key] ?? null;
          break;
        }
        out += '}';
      }
      stack.pop();
    }
  }
}

/** `tostring`: strings as they are, everything else as JSON. */
export function toText(value: Json): string {
  return typeof value === 'string' ? value : toJson(value);
}

/** The beginning of a value's JSON text, at most 29 bytes, as error messages show it. */
export function dump(value: Json): string {
  let text: string;
  try {
    text = toJson(typeof value === 'string' && value.length > 40 ? beginning(value, 30) : preview(value, 0));
  } catch {
    text = '...';
  }
  if (utf8Length(text) <= 29) return text;
  const first = text.charAt(0);
  const close = first === '"' ? '"' : first === '[' ? ']' : first === '{' ? '}' : '';
  const room = close ? 25 : 26;
  let used = 0;
  let out = '';
  for (const char of text) {
    used += utf8Length(char);
    if (used > room) break;
    out += char;
  }
  return `${out}...${close}`;
}

/** The first code points of a text, none of which has more than two units. */
function beginning(text: string, count: number): string {
  return sliceCodePoints(text.slice(0, 2 * count), 0, count);
}

/** Enough of a value for a dump: an error on a huge value must not print all of it. */
function preview(value: Json, depth: number): Json {
  if (typeof value === 'string') return value.length > 40 ? beginning(value, 40) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 30) return null;
  if (Array.isArray(value)) return value.slice(0, 16).map((element) => preview(element, depth + 1));
  return Object.fromEntries(
    keysOf(value)
      .slice(0, 16)
      .map((key) => [key.slice(0, 40), preview(value[key] ?? null, depth + 1)]),
  );
}

/** Kind and dump of a value, as in `number (1)`. */
export function describe(value: Json): string {
  return `${kindOf(value)} (${dump(value)})`;
}

export function typeError(value: Json, message: string): never {
  raise(`${describe(value)} ${message}`);
}

export function typeError2(a: Json, b: Json, message: string): never {
  raise(`${describe(a)} and ${describe(b)} ${message}`);
}
