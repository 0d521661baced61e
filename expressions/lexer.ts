/** Source text to tokens, following jq's lexer.l. Strings become a token with nested tokens inside. */
import { compileError } from './errors.ts';
import { unescapeString } from './values/parse-json.ts';

export type TokenType = 'number' | 'string' | 'format' | 'field' | 'variable' | 'word' | 'keyword' | 'op' | 'end';

export interface Token {
  type: TokenType;
  /** The operator, name or digits; for a field or variable the name without its sign. */
  text: string;
  at: number;
  end: number;
  /** Inside of a string: texts, and the tokens of each interpolation. */
  parts?: (string | Token[])[];
}

export const keywords: ReadonlySet<string> = new Set([
  'as', 'import', 'include', 'module', 'def', 'if', 'then', 'else', 'elif', 'and', 'or', 'end',
  'reduce', 'foreach', 'try', 'catch', 'label', 'break',
]);

const operators = [
  '?//', '//=', '!=', '==', '//', '|=', '+=', '-=', '*=', '/=', '%=', '<=', '>=', '..',
  '.', '?', '=', ';', ',', ':', '|', '+', '-', '*', '/', '%', '$', '<', '>', '(', ')', '[', ']', '{', '}',
];
const closers: Record<string, string> = { '(': ')', '[': ']', '{': '}' };

const space = /[ \r\n\t]+/y;
const comment = /#(?:\\(?:\\|\r?\n)|[^\n])*/y;
const number = /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const word = /(?:[a-zA-Z_][a-zA-Z_0-9]*::)*[a-zA-Z_][a-zA-Z_0-9]*/y;
const format = /@[a-zA-Z0-9_]+/y;
const field = /\.[a-zA-Z_][a-zA-Z_0-9]*/y;
const variable = /\$(?:[a-zA-Z_][a-zA-Z_0-9]*::)*[a-zA-Z_][a-zA-Z_0-9]*/y;

/** Nesting of brackets and strings: bounds the recursion of lexer, parser and compiler. */
const maxNesting = 200;

export interface Lexed {
  tokens: Token[];
  /** Offset just behind the closing brace, when reading stopped at one. */
  end: number;
}

/**
 * Reads tokens from `start` to the end of the source, or to the first unmatched `closer`
 * (`}` for a template's `${ … }`, `)` for a string's `\( … )`).
 */
export function lex(source: string, start = 0, closer: string | null = null, nesting = 0): Lexed {
  if (nesting > maxNesting) throw compileError(source, start, 'Expression is nested too deeply', { code: 'limit' });
  const tokens: Token[] = [];
  const open: string[] = [];
  let i = start;

  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = i;
    return pattern.exec(source)?.[0] ?? null;
  };
  const push = (type: TokenType, text: string, length: number): void => {
    tokens.push({ type, text, at: i, end: i + length });
    i += length;
  };

  for (;;) {
    const blank = match(space) ?? match(comment);
    if (blank !== null) {
      i += blank.length;
      continue;
    }
    const char = source.charAt(i);
    if (char === '') break;
    if (char === '"') {
      const string = lexString(source, i, nesting + 1);
      tokens.push(string);
      i = string.end;
      continue;
    }
    let text: string | null;
    if ((text = match(number)) !== null) push('number', text, text.length);
    else if ((text = match(field)) !== null) push('field', text.slice(1), text.length);
    else if ((text = match(variable)) !== null) push('variable', text.slice(1), text.length);
    else if ((text = match(format)) !== null) push('format', text.slice(1), text.length);
    else if ((text = match(word)) !== null) push(keywords.has(text) ? 'keyword' : 'word', text, text.length);
    else {
      const op = operators.find((candidate) => source.startsWith(candidate, i));
      if (op === undefined) throw compileError(source, i, `syntax error, unexpected character ${JSON.stringify(char)}`);
      const closing = closers[op];
      if (closing !== undefined) {
        open.push(closing);
        if (open.length + nesting > maxNesting) throw compileError(source, i, 'Expression is nested too deeply', { code: 'limit' });
      } else if (op === ')' || op === ']' || op === '}') {
        if (open.length === 0 && op === closer) {
          tokens.push({ type: 'end', text: op, at: i, end: i });
          return { tokens, end: i + 1 };
        }
        if (open.pop() !== op) throw compileError(source, i, `syntax error, unexpected '${op}'`);
      }
      push('op', op, op.length);
    }
  }
  if (closer !== null) throw compileError(source, Math.max(0, start - 2), closer === '}' ? "Unterminated '${'" : 'Unterminated string interpolation');
  tokens.push({ type: 'end', text: 'end of file', at: i, end: i });
  return { tokens, end: i };
}

function lexString(source: string, start: number, nesting: number): Token {
  const parts: (string | Token[])[] = [];
  let raw = '';
  let i = start + 1;
  let textStart = i;
  const flush = (): void => {
    if (raw === '') return;
    const text = unescapeString(raw, true);
    if (typeof text !== 'string') throw compileError(source, textStart, `${text.problem} (while parsing '"${raw}"')`);
    parts.push(text);
    raw = '';
  };
  for (;;) {
    const char = source.charAt(i);
    if (char === '') throw compileError(source, start, 'syntax error, unterminated string literal');
    if (char === '"') {
      flush();
      return { type: 'string', text: '', at: start, end: i + 1, parts };
    }
    if (char === '\\' && source.charAt(i + 1) === '(') {
      flush();
      const inner = lex(source, i + 2, ')', nesting);
      parts.push(inner.tokens);
      i = inner.end;
      textStart = i;
      continue;
    }
    const size = char === '\\' ? 2 : 1;
    raw += source.slice(i, i + size);
    i += size;
  }
}
