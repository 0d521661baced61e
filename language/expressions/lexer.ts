/** Source text to tokens, following jq's lexer.l. Strings become a token with nested tokens inside. */
import { compileError } from './errors.ts';
import { unescapeString } from './values/parse-json.ts';

type TokenType = 'number' | 'string' | 'format' | 'field' | 'variable' | 'word' | 'keyword' | 'op' | 'end';

export interface Token {
  type: TokenType;
  /** The operator, name or digits; for a field or variable the name without its sign. */
  text: string;
  at: number;
  end: number;
  /** Inside of a string: texts, and the tokens of each interpolation. */
  parts?: (string | Token[])[];
}

export const KEYWORDS: ReadonlySet<string> = new Set([
  'as',
  'import',
  'include',
  'module',
  'def',
  'if',
  'then',
  'else',
  'elif',
  'and',
  'or',
  'end',
  'reduce',
  'foreach',
  'try',
  'catch',
  'label',
  'break',
]);

const OPERATORS = [
  '?//',
  '//=',
  '!=',
  '==',
  '//',
  '|=',
  '+=',
  '-=',
  '*=',
  '/=',
  '%=',
  '<=',
  '>=',
  '..',
  '.',
  '?',
  '=',
  ';',
  ',',
  ':',
  '|',
  '+',
  '-',
  '*',
  '/',
  '%',
  '$',
  '<',
  '>',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
];
const closers: Record<string, string> = { '(': ')', '[': ']', '{': '}' };

const SPACE = /[ \r\n\t]+/y;
const COMMENT = /#(?:\\(?:\\|\r?\n)|[^\n])*/y;
const NUMBER = /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const WORD = /(?:[a-zA-Z_][a-zA-Z_0-9]*::)*[a-zA-Z_][a-zA-Z_0-9]*/y;
const FORMAT = /@[a-zA-Z0-9_]+/y;
const FIELD = /\.[a-zA-Z_][a-zA-Z_0-9]*/y;
const VARIABLE = /\$(?:[a-zA-Z_][a-zA-Z_0-9]*::)*[a-zA-Z_][a-zA-Z_0-9]*/y;

/** The tokens with a pattern, in the order of trying. `sign`: the length of the leading sign. */
const TOKENS: readonly { type: TokenType; pattern: RegExp; sign: number }[] = [
  { type: 'number', pattern: NUMBER, sign: 0 },
  { type: 'field', pattern: FIELD, sign: 1 },
  { type: 'variable', pattern: VARIABLE, sign: 1 },
  { type: 'format', pattern: FORMAT, sign: 1 },
  { type: 'word', pattern: WORD, sign: 0 },
];

/** Nesting of brackets and strings: bounds the recursion of lexer, parser and compiler. */
const MAX_NESTING = 200;

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
  if (nesting > MAX_NESTING) throw tooDeep(source, start);
  const tokens: Token[] = [];
  const open: string[] = [];
  let at = start;
  for (;;) {
    at = skipBlanks(source, at);
    if (at >= source.length) break;
    const token = lexToken(source, at, nesting);
    if (token.type === 'op') {
      if (open.length === 0 && token.text === closer) {
        tokens.push({ type: 'end', text: closer, at, end: at });
        return { tokens, end: token.end };
      }
      checkBrackets(source, token, open, nesting);
    }
    tokens.push(token);
    at = token.end;
  }
  if (closer !== null)
    throw compileError(
      source,
      Math.max(0, start - 2),
      closer === '}' ? "The '}' that ends this '${' is missing" : 'Unterminated string interpolation',
    );
  tokens.push({ type: 'end', text: 'end of file', at, end: at });
  return { tokens, end: at };
}

function tooDeep(source: string, at: number): Error {
  return compileError(source, at, 'Expression is nested too deeply', { code: 'limit' });
}

/** The offset behind blanks and comments. */
function skipBlanks(source: string, start: number): number {
  let at = start;
  for (;;) {
    const blank = match(SPACE, source, at) ?? match(COMMENT, source, at);
    if (blank === null) return at;
    at += blank.length;
  }
}

function match(pattern: RegExp, source: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? null;
}

function lexToken(source: string, at: number, nesting: number): Token {
  if (source.charAt(at) === '"') return lexString(source, at, nesting + 1);
  for (const { type, pattern, sign } of TOKENS) {
    const text = match(pattern, source, at);
    if (text === null) continue;
    const isKeyword = type === 'word' && KEYWORDS.has(text);
    return { type: isKeyword ? 'keyword' : type, text: text.slice(sign), at, end: at + text.length };
  }
  const text = OPERATORS.find((candidate) => source.startsWith(candidate, at));
  if (text === undefined)
    throw compileError(source, at, `syntax error, unexpected character ${JSON.stringify(source.charAt(at))}`);
  return { type: 'op', text, at, end: at + text.length };
}

/** Keeps `open`, the brackets that are still to be closed, in step with the operator. */
function checkBrackets(source: string, { text, at }: Token, open: string[], nesting: number): void {
  const closing = closers[text];
  if (closing !== undefined) {
    open.push(closing);
    if (open.length + nesting > MAX_NESTING) throw tooDeep(source, at);
  } else if (text === ')' || text === ']' || text === '}') {
    if (open.pop() !== text) throw compileError(source, at, `syntax error, unexpected '${text}'`);
  }
}

function lexString(source: string, start: number, nesting: number): Token {
  const parts: (string | Token[])[] = [];
  let raw = '';
  let i = start + 1;
  let textStart = i;
  const flush = (): void => {
    if (raw === '') return;
    const text = unescapeString(raw, true);
    if (typeof text !== 'string')
      throw compileError(source, textStart, `${text.problem} (while parsing '"${raw}"')`);
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
