/** Declarations of functions on numbers. */
import { num } from '../runtime.ts';
import { typeError } from '../values/json.ts';
import type { Json } from '../values/json-types.ts';
import { value, type Builtin } from './types.ts';

const REQUIRED = 'number required';

function need(input: Json | undefined): number {
  return typeof input === 'number' ? input : typeError(input ?? null, REQUIRED);
}

/** A function of the input. */
export function number1(fn: (x: number) => number): Builtin {
  return value((input) => num(fn(need(input))));
}

/** A function of two arguments. */
export function number2(fn: (x: number, y: number) => number): Builtin {
  return value((_, x, y) => num(fn(need(x), need(y))));
}

/** A function of three arguments. */
export function number3(fn: (x: number, y: number, z: number) => number): Builtin {
  return value((_, x, y, z) => num(fn(need(x), need(y), need(z))));
}

/** Rounds half to even. */
export function roundEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  if (rest < 0.5) return rest === 0 ? x : floor === 0 && x < 0 ? -0 : floor;
  if (rest > 0.5) return floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}
