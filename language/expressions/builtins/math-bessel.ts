/** Bessel functions of integer order (manual: Math), by their power series and integrals. */
import { SHIFT, tick, tickSize } from '../runtime.ts';
import { number1, number2 } from './math-support.ts';
import type { Family } from './types.ts';

const STEPS = 400;

/** Integrates `f` over [from, to] by Simpson's rule. */
function integrate(f: (t: number) => number, from: number, to: number, n: number): number {
  const h = (to - from) / n;
  let sum = f(from) + f(to);
  for (let i = 1; i < n; i++) sum += f(from + i * h) * (i % 2 === 1 ? 4 : 2);
  return (sum * h) / 3;
}

/** Enough points for the oscillations of the integrand. */
function points(n: number, x: number): number {
  const wanted = 2 * Math.ceil(STEPS + 4 * (Math.abs(x) + Math.abs(n)));
  const count = Math.min(wanted, 200_000);
  tick(count);
  return count;
}

function jn(n: number, x: number): number {
  const order = Math.trunc(n);
  if (x !== x || n !== n) return NaN;
  if (!Number.isFinite(x)) return 0;
  // The integrand is periodic, so the trapezoidal rule converges as fast as a series.
  const count = points(order, x);
  let sum = (1 + Math.cos(order * Math.PI)) / 2;
  for (let i = 1; i < count; i++) {
    const t = (i * Math.PI) / count;
    sum += Math.cos(order * t - x * Math.sin(t));
  }
  return sum / count;
}

function yn(n: number, x: number): number {
  const order = Math.trunc(n);
  if (x !== x || n !== n || x < 0) return NaN;
  if (x === 0) return -Infinity;
  if (!Number.isFinite(x)) return 0;
  if (order < 0) return (order % 2 === 0 ? 1 : -1) * yn(-order, x);
  if (order > 1) {
    const turns = Math.min(order, 100_000);
    tickSize(turns, SHIFT.write);
    let [before, current] = [yn(0, x), yn(1, x)];
    for (let i = 1; i < turns; i++) [before, current] = [current, ((2 * i) / x) * current - before];
    return current;
  }
  const count = points(order, x);
  tickSize(count * 4, 0);
  const first = integrate((t) => Math.sin(x * Math.sin(t) - order * t), 0, Math.PI, count);
  const end = Math.asinh((40 + 2 * order) / x) + 1;
  const second = integrate(
    (t) =>
      (Math.exp(order * t) + (order % 2 === 0 ? 1 : -1) * Math.exp(-order * t)) * Math.exp(-x * Math.sinh(t)),
    0,
    end,
    count * 4,
  );
  return (first - second) / Math.PI;
}

export const besselFamily: Family = {
  'j0/0': number1((x) => jn(0, x)),
  'j1/0': number1((x) => jn(1, x)),
  'jn/2': number2(jn),
  'y0/0': number1((x) => yn(0, x)),
  'y1/0': number1((x) => yn(1, x)),
  'yn/2': number2(yn),
};
