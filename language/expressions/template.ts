/** Texts with `${ … }`. The lexer finds the end of each expression. */
import { compileError } from './errors.ts';
import { parse, parseEmbedded } from './parser.ts';
import type { Node } from './ast.ts';

/**
 * `strict`: only `${ … }` is evaluated; other text is literal.
 * `loose`: a text without `${` is an expression as a whole.
 */
export type TemplateMode = 'strict' | 'loose';

/** An expression that always has an output: its first one, or null. */
function firstOrNull(node: Node): Node {
  const { at } = node;
  const empty: Node = { t: 'literal', value: null, at };
  const first: Node = { t: 'call', name: 'first', args: [{ t: 'comma', left: node, right: empty, at }], at };
  return first;
}

/**
 * The expression that a text denotes. A text that is entirely `${ … }`, apart from blanks around it, is that
 * expression; embedded ones are joined into a string by their first outputs.
 */
export function parseTemplate(text: string, mode: TemplateMode): Node {
  const parts: (string | Node)[] = [];
  let from = 0;
  for (let start = text.indexOf('${'); start >= 0; start = text.indexOf('${', from)) {
    if (start > from) parts.push(text.slice(from, start));
    const { node, end } = parseEmbedded(text, start + 2);
    if (text.slice(start + 2, end - 1).trim() === '')
      throw compileError(text, start, "Empty expression in '${}'");
    parts.push(node);
    from = end;
  }
  if (parts.length === 0) return mode === 'loose' ? parse(text) : { t: 'literal', value: text, at: 0 };
  if (from < text.length) parts.push(text.slice(from));
  const nodes = parts.filter((part) => typeof part !== 'string');
  const only = nodes[0];
  if (
    nodes.length === 1 &&
    only !== undefined &&
    parts.every((part) => typeof part !== 'string' || part.trim() === '')
  )
    return only;
  return {
    t: 'string',
    format: null,
    parts: parts.map((part) => (typeof part === 'string' ? part : firstOrNull(part))),
    at: 0,
  };
}
