/** Gamma and error functions (manual: Math), by Lanczos' approximation and series. */
import { num } from '../runtime.ts';
import { typeError } from '../values/json.ts';
import { number1 } from './math-support.ts';
import { value, type Family } from './types.ts';

const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
] as const;

function series(x: number): number {
  let sum: number = LANCZOS[0];
  for (let i = 1; i < LANCZOS.length; i++) sum += (LANCZOS[i] ?? 0) / (x + i);
  return sum;
}

function gamma(x: number): number {
  if (x === -Infinity || (Number.isInteger(x) && x < 0)) return NaN;
  if (x === 0) return 1 / x;
  if (Number.isInteger(x) && x < 30) {
    let product = 1;
    for (let i = 2; i < x; i++) product *= i;
    return product;
  }
  if (x > 171.7) return Infinity;
  if (x < 0.5) return Math.PI / (Math.sin(Math.PI * x) * gamma(1 - x));
  const y = x - 1;
  const t = y + 7.5;
  return Math.sqrt(2 * Math.PI) * t ** ((y + 0.5) / 2) * Math.exp(-t) * t ** ((y + 0.5) / 2) * series(y);
}

function logGamma(x: number): number {
  if (!Number.isFinite(x)) return x === x ? Infinity : NaN;
  if (Number.isInteger(x) && x <= 0) return Infinity;
  if (x === 1 || x === 2) return 0;
  if (x < 0.5) return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * x))) - logGamma(1 - x);
  if (x < 20) return Math.log(Math.abs(gamma(x)));
  const y = 1 / (x * x);
  const tail = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y / 1680))) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + tail;
}

function erf(x: number): number {
  if (x !== x) return NaN;
  if (Math.abs(x) > 3) return Math.sign(x) * (1 - erfc(Math.abs(x)));
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum) && n < 200; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

function erfc(x: number): number {
  if (x < 2) return 1 - erf(x);
  if (x > 27) return 0;
  let fraction = 0;
  for (let n = 120; n > 0; n--) fraction = n / 2 / (x + fraction);
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + fraction);
}

export const gammaFamily: Family = {
  'tgamma/0': number1(gamma),
  'lgamma/0': number1(logGamma),
  'gamma/0': number1(logGamma),
  'lgamma_r/0': value((input) => {
    if (typeof input !== 'number') return typeError(input, 'number required');
    const sign = input < 0 ? (Math.floor(input) % 2 === 0 ? 1 : -1) : Object.is(input, -0) ? -1 : 1;
    return [num(logGamma(input)), sign];
  }),
  'erf/0': number1(erf),
  'erfc/0': number1(erfc),
};
