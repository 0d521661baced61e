/** Trees of lists. */
import type { Node } from './ast.ts';

/** Joins operands of an associative operator into a balanced tree, so that long lists stay shallow. */
export function balance(parts: Node[], t: 'pipe' | 'comma'): Node {
  const first = parts[0];
  if (parts.length === 1 && first) return first;
  const middle = parts.length >> 1;
  const left = balance(parts.slice(0, middle), t);
  return { t, left, right: balance(parts.slice(middle), t), at: left.at };
}
