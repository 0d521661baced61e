/** Numbers as jq prints them (jv_dtoa.c, `jvp_dtoa_fmt`) and as it reads them from text. */
import { SHIFT, tickSize } from '../runtime.ts';

/** The shortest decimal text that reads back as `n`; infinities become the largest double. */
export function formatNumber(n: number): string {
  if (Number.isInteger(n)) {
    if (n === 0) return Object.is(n, -0) ? '-0' : '0';
    if (n < 1e15 && n > -1e15) return String(n);
  }
  if (n !== n) return 'null';
  if (n === Infinity) return '1.7976931348623157e+308';
  if (n === -Infinity) return '-1.7976931348623157e+308';
  const [mantissa = '', exponent = '0'] = Math.abs(n).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const point = Number(exponent) + 1;
  const sign = n < 0 ? '-' : '';
  if (point <= -4 || point > digits.length + 15) {
    const e = Math.abs(point - 1);
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
    return `${sign}${digits.slice(0, 1)}${fraction}e${point - 1 < 0 ? '-' : '+'}${e < 10 ? '0' : ''}${e}`;
  }
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  if (point >= digits.length) return sign + digits + '0'.repeat(point - digits.length);
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

const NUMBER_PATTERN = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const NAN_PATTERN = /^[+-]?nan$/i;
const INFINITY_PATTERN = /^([+-]?)inf(?:inity)?$/i;

/** Reads a number the way `tonumber` and the JSON reader do; undefined when it is none. */
export function parseNumber(text: string): number | undefined {
  tickSize(text.length, SHIFT.scan);
  if (NUMBER_PATTERN.test(text)) return Number(text);
  if (NAN_PATTERN.test(text)) return NaN;
  const infinity = INFINITY_PATTERN.exec(text);
  if (infinity) return infinity[1] === '-' ? -Infinity : Infinity;
  return undefined;
}
