/** Reads YAML with the place of each part, as the server reads YAML, and lays it out. */
import {
  CST,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  parseDocument,
  type Document,
  type Node,
} from 'yaml';

import { pointerAt, type Places, type ReadText, type TextProblem } from './places.ts';

/** The bound of the server for the copies that aliases make. */
const MAX_ALIASES = 100;

export function readYaml(text: string): ReadText {
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'error' });
  const problems: TextProblem[] = document.errors.map(({ pos: [from, to], message }) => ({
    from,
    to,
    message: sentence(message),
  }));
  const places: Places = new Map();
  if (problems.length > 0) return { places, problems };
  if (document.contents === null)
    return { places, problems: [{ from: 0, to: text.length, message: 'The text is empty.' }] };
  addPlaces(places, text, '', document.contents, null);
  try {
    return { value: document.toJS({ maxAliasCount: MAX_ALIASES }), places, problems };
  } catch (error) {
    const message = sentence(error instanceof Error ? error.message : String(error));
    return { places, problems: [{ from: 0, to: text.length, message }] };
  }
}

function addPlaces(places: Places, text: string, pointer: string, node: Node, name: Node | null): void {
  const [start = 0, , end = start] = node.range ?? [];
  const from = name?.range?.[0] ?? start;
  const valueEnd = node.range?.[1] ?? end;
  const firstLine = text.indexOf('\n', from);
  const lineEnd = firstLine < 0 ? text.length : firstLine;
  const nameEnd = name?.range?.[1] ?? Math.min(valueEnd, lineEnd);
  const to = isCollection(node) ? nameEnd : Math.min(valueEnd, Math.max(lineEnd, nameEnd));
  places.set(pointer, { from, to: Math.max(to, from), start: from, end: Math.max(valueEnd, from) });
  if (isMap(node)) {
    for (const pair of node.items)
      if (isPair(pair) && isScalar(pair.key)) {
        const at = pointerAt(pointer, String(pair.key.value));
        // A name without a value has none to look into.
        if (isNode(pair.value)) addPlaces(places, text, at, pair.value, pair.key);
        else addPlaces(places, text, at, pair.key, pair.key);
      }
  } else if (isSeq(node)) {
    for (const [index, item] of node.items.entries())
      if (isNode(item)) addPlaces(places, text, pointerAt(pointer, index), item, null);
  }
}

function isNode(value: unknown): value is Node {
  return isScalar(value) || isCollection(value) || isAlias(value);
}

function sentence(message: string): string {
  return /[.!?:]$/.test(message) ? message : `${message}.`;
}

/** The text laid out anew, with its comments; null if it cannot be read. */
export function layOutYaml(text: string): string | null {
  const document: Document = parseDocument(text, { prettyErrors: false, logLevel: 'error' });
  return document.errors.length > 0 ? null : document.toString({ lineWidth: 110 });
}

/** Comments are not part of the value, so they are lost in JSON. */
export function hasComments(text: string): boolean {
  let before = '';
  for (const lexeme of new Lexer().lex(text)) {
    // The text of a scalar follows its mark.
    if (lexeme.startsWith('#') && before !== CST.SCALAR) return true;
    before = lexeme;
  }
  return false;
}
