/** Builtins written in jq: compiled anew at each call, so that errors show the place of the call. */
import { parse } from '../parser.ts';
import type { FunctionNode } from '../ast.ts';

const parsed = new Map<string, FunctionNode>();

function definition(source: string): FunctionNode {
  const known = parsed.get(source);
  if (known) return known;
  const node = parse(source);
  if (node.t !== 'def') throw new Error(`not a definition: ${source}`);
  parsed.set(source, node.fn);
  return node.fn;
}

/** A copy of a tree with every place replaced by `at`. */
function relocate<T>(value: T, at: number): T {
  // The copy has the very keys of the original, so it has its type.
  if (Array.isArray(value)) return value.map((element: unknown) => relocate(element, at)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, key === 'at' ? at : relocate<unknown>(child, at)]),
  ) as T;
}

/** The function that `source` defines, placed at `at`. */
export function preludeFunction(source: string, at: number): FunctionNode {
  return relocate(definition(source), at);
}
