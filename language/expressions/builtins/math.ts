/** Math (manual: Math, `floor`, `sqrt`, `abs`, …): the functions of C's math library. */
import { num } from '../runtime.ts';
import { typeError } from '../values/json.ts';
import type { Json } from '../values/json-types.ts';
import { besselFamily } from './math-bessel.ts';
import { gammaFamily } from './math-gamma.ts';
import { number1, number2, number3, roundEven } from './math-support.ts';
import { value, type Family } from './types.ts';

function abs(input: Json): Json {
  if (typeof input !== 'number') {
    // jq defines it as `if . < 0 then - . else . end`; values ordered below numbers cannot be negated.
    if (input === null || typeof input === 'boolean') return typeError(input, 'cannot be negated');
    return input;
  }
  return input < 0 ? -input : input;
}

/** Fraction in [0.5, 1) and exponent. */
function frexp(x: number): [number, number] {
  if (x === 0 || !Number.isFinite(x)) return [x, 0];
  let exponent = Math.max(-1023, Math.floor(Math.log2(Math.abs(x))) + 1);
  let fraction = x * 2 ** -exponent;
  if (!Number.isFinite(fraction)) fraction = (x / 2) * 2 ** (1 - exponent);
  while (Math.abs(fraction) < 0.5) {
    fraction *= 2;
    exponent--;
  }
  while (Math.abs(fraction) >= 1) {
    fraction /= 2;
    exponent++;
  }
  return [fraction, exponent];
}

/** x · 2^n without overflow on the way. */
function ldexp(x: number, n: number): number {
  let steps = Math.max(-2200, Math.min(2200, Math.trunc(n)));
  let result = x;
  for (; steps > 1000; steps -= 1000) result *= 2 ** 1000;
  for (; steps < -1000; steps += 1000) result *= 2 ** -1000;
  return result * 2 ** steps;
}

function nextAfter(x: number, y: number): number {
  if (x !== x || y !== y) return NaN;
  if (x === y) return y;
  if (x === 0) return y > 0 ? 5e-324 : -5e-324;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const bits = view.getBigInt64(0);
  view.setBigInt64(0, bits + (y > x === x > 0 ? 1n : -1n));
  return view.getFloat64(0);
}

/** IEEE remainder: the quotient is rounded to the nearest integer, ties to even. */
function remainder(x: number, y: number): number {
  if (!Number.isFinite(x) || y !== y || y === 0) return NaN;
  if (!Number.isFinite(y)) return x;
  let rest = x % y;
  const half = Math.abs(y) / 2;
  const odd = Math.abs(Math.trunc((x - rest) / y)) % 2 === 1;
  if (Math.abs(rest) > half || (Math.abs(rest) === half && odd)) rest -= Math.sign(rest) * Math.abs(y);
  return rest === 0 && x < 0 ? -0 : rest;
}

/** Rounds half away from zero, as C does. */
function round(x: number): number {
  const rounded = Math.trunc(x);
  return Math.abs(x - rounded) >= 0.5 ? rounded + Math.sign(x) : rounded;
}

function copySign(x: number, y: number): number {
  const negative = y < 0 || Object.is(y, -0);
  return negative ? -Math.abs(x) : Math.abs(x);
}

function logb(x: number): number {
  if (x === 0) return -Infinity;
  if (!Number.isFinite(x)) return x * x;
  return frexp(x)[1] - 1;
}

function power(x: number, y: number): number {
  // C, unlike JavaScript: 1 to any power is 1, and so is -1 to an infinite one.
  if (x === 1 || (x === -1 && !Number.isFinite(y) && y === y)) return 1;
  return x ** y;
}

function exp10(x: number): number {
  return Number.isInteger(x) && Math.abs(x) < 400 ? Number(`1e${x}`) : 10 ** x;
}

function fma(x: number, y: number, z: number): number {
  return x * y + z;
}

function pair(input: Json, fn: (x: number) => [number, number]): Json {
  if (typeof input !== 'number') return typeError(input, 'number required');
  const [a, b] = fn(input);
  return [num(a), num(b)];
}

export const math: Family = {
  'abs/0': value(abs),
  'fabs/0': number1(Math.abs),
  'floor/0': number1(Math.floor),
  'ceil/0': number1(Math.ceil),
  'trunc/0': number1(Math.trunc),
  'round/0': number1(round),
  'rint/0': number1(roundEven),
  'nearbyint/0': number1(roundEven),
  'sqrt/0': number1(Math.sqrt),
  'cbrt/0': number1(Math.cbrt),
  'exp/0': number1(Math.exp),
  'exp2/0': number1((x) => 2 ** x),
  'exp10/0': number1(exp10),
  'pow10/0': number1(exp10),
  'expm1/0': number1(Math.expm1),
  'log/0': number1(Math.log),
  'log2/0': number1(Math.log2),
  'log10/0': number1(Math.log10),
  'log1p/0': number1(Math.log1p),
  'sin/0': number1(Math.sin),
  'cos/0': number1(Math.cos),
  'tan/0': number1(Math.tan),
  'asin/0': number1(Math.asin),
  'acos/0': number1(Math.acos),
  'atan/0': number1(Math.atan),
  'sinh/0': number1(Math.sinh),
  'cosh/0': number1(Math.cosh),
  'tanh/0': number1(Math.tanh),
  'asinh/0': number1(Math.asinh),
  'acosh/0': number1(Math.acosh),
  'atanh/0': number1(Math.atanh),
  'logb/0': number1(logb),
  'significand/0': number1((x) => (x === 0 || !Number.isFinite(x) ? x : frexp(x)[0] * 2)),
  'frexp/0': value((input) => pair(input, frexp)),
  'modf/0': value((input) =>
    pair(input, (x) =>
      Number.isFinite(x)
        ? [copySign(x - Math.trunc(x), x), Math.trunc(x)]
        : [x === x ? copySign(0, x) : x, x],
    ),
  ),
  'pow/2': number2(power),
  'atan2/2': number2(Math.atan2),
  'fmod/2': number2((x, y) => x % y),
  'fmin/2': number2((x, y) => (x !== x ? y : y !== y ? x : Math.min(x, y))),
  'fmax/2': number2((x, y) => (x !== x ? y : y !== y ? x : Math.max(x, y))),
  'fdim/2': number2((x, y) => (x !== x || y !== y ? NaN : x > y ? x - y : 0)),
  'hypot/2': number2(Math.hypot),
  'copysign/2': number2(copySign),
  'drem/2': number2(remainder),
  'remainder/2': number2(remainder),
  'ldexp/2': number2(ldexp),
  'scalb/2': number2(ldexp),
  'scalbln/2': number2(ldexp),
  'nextafter/2': number2(nextAfter),
  'nexttoward/2': number2(nextAfter),
  'fma/3': number3(fma),
  ...gammaFamily,
  ...besselFamily,
};
