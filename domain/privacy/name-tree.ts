/**
 * One pattern for thousands of names. Those that begin alike share their beginning, so a text is compared
 * with few of them at each of its characters.
 */
import { wordParts } from './name-pattern.ts';
import type { NameKind } from './names.ts';

/** A name; of other people the kind is null. */
export interface Word {
  text: string;
  kind: NameKind | null;
}

interface Node {
  next: Map<string, Node>;
  /** By the pattern of the end. */
  ends: Map<string, NameKind | null>;
  /** Of the longest name that goes on here. */
  length: number;
}

/**
 * Of names that match at the same place the longest is found, of equal ones the first. @param kinds gets the
 * kinds of the pattern's groups, one for each name that has a kind
 */
export function treePattern(words: readonly Word[], kinds: NameKind[]): string {
  const root = newNode();
  for (const { text, kind } of words) {
    const parts = wordParts(text);
    let node = root;
    for (const part of parts.slice(0, -1)) {
      const next = node.next.get(part) ?? newNode();
      node.next.set(part, next);
      next.length = Math.max(next.length, text.length);
      node = next;
    }
    const end = parts.at(-1) ?? '';
    if (!node.ends.has(end)) node.ends.set(end, kind);
  }
  return rendered(root, kinds);
}

function newNode(): Node {
  return { next: new Map(), ends: new Map(), length: 0 };
}

/** Longer names come before those that end here. */
function rendered({ next, ends }: Node, kinds: NameKind[]): string {
  const branches: string[] = [];
  for (const [part, node] of [...next].toSorted(([, a], [, b]) => b.length - a.length))
    branches.push(`${part}${rendered(node, kinds)}`);
  for (const [end, kind] of ends) {
    if (kind !== null) kinds.push(kind);
    branches.push(kind === null ? end : `${end}()`);
  }
  return branches.length === 1 ? (branches[0] ?? '') : `(?:${branches.join('|')})`;
}
