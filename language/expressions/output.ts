/** The last check of an output: size and depth in bounds, no number that JSON lacks. */
import { exceed, runtime } from './runtime.ts';
import type { Json, JsonObject } from './values/json-types.ts';
import { putKey } from './values/objects.ts';

const { rt } = runtime;

function finite(value: number): Json {
  if (value !== value) return null;
  return value === Infinity ? Number.MAX_VALUE : value === -Infinity ? -Number.MAX_VALUE : value;
}

/** Size left to the outputs of one evaluation, in values. */
export interface Allowance {
  size: number;
}

/**
 * Checks an output and returns it. NaN becomes null and infinities the largest double, as in jq's
 * output; only then is the value copied.
 */
export function finish(value: Json, allowance: Allowance): Json {
  if (typeof value === 'number') {
    allowance.size--;
    return value - value === 0 ? value : finite(value);
  }
  if (typeof value !== 'object' || value === null) {
    allowance.size -= typeof value === 'string' ? 1 + (value.length >> 7) : 1;
    if (allowance.size < 0) exceed('outputSize');
    return value ?? null;
  }
  measure(value, allowance);
  return rt.nonFinite ? clean(value) : value;
}

function measure(root: Json[] | JsonObject, allowance: Allowance): void {
  const stack: (Json[] | JsonObject)[] = [root];
  const depths: number[] = [1];
  const maxDepth = Math.min(rt.limits.outputDepth, rt.limits.depth);
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    const depth = depths.pop() ?? 0;
    if (depth > maxDepth) exceed('outputDepth');
    const values = Array.isArray(node) ? node : Object.values(node);
    allowance.size -= values.length + 1;
    if (allowance.size < 0) exceed('outputSize');
    for (const child of values) {
      if (typeof child === 'string') allowance.size -= child.length >> 7;
      else if (typeof child === 'object' && child !== null) {
        stack.push(child);
        depths.push(depth + 1);
      }
    }
  }
}

/** A copy without NaN and infinities. The depth is known to be in bounds. */
function clean(root: Json[] | JsonObject): Json {
  const empty = (node: Json[] | JsonObject): Json[] | JsonObject => (Array.isArray(node) ? [] : {});
  const top = empty(root);
  const stack: [Json[] | JsonObject, Json[] | JsonObject][] = [[root, top]];
  for (let item = stack.pop(); item; item = stack.pop()) {
    const [from, to] = item;
    for (const key of Object.keys(from)) {
      const child: Json = Array.isArray(from) ? (from[Number(key)] ?? null) : (from[key] ?? null);
      let copy: Json = child;
      if (typeof child === 'number') copy = finite(child);
      else if (typeof child === 'object' && child !== null) {
        const target = empty(child);
        stack.push([child, target]);
        copy = target;
      }
      if (Array.isArray(to)) to.push(copy);
      else putKey(to, key, copy);
    }
  }
  return top;
}
