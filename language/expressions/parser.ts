/** Tokens to syntax tree, by the grammar and the precedences of jq's parser.y. */
import { compileError } from './errors.ts';
import { lex, type Token } from './lexer.ts';
import { balance } from './balance.ts';
import { ObjectParser } from './parser-objects.ts';
import { PatternParser } from './parser-patterns.ts';
import type { ParserRules } from './parser-rules.ts';
import type { BinaryOperator, FunctionNode, Node, Param, UpdateOperator } from './ast.ts';
import { describe } from './values/json.ts';

type Operator = { power: number; assoc: 'left' | 'right' | 'none' };

const binary: Record<string, Operator> = {
  '//': { power: 1, assoc: 'right' },
  '=': { power: 2, assoc: 'none' },
  '|=': { power: 2, assoc: 'none' },
  '+=': { power: 2, assoc: 'none' },
  '-=': { power: 2, assoc: 'none' },
  '*=': { power: 2, assoc: 'none' },
  '/=': { power: 2, assoc: 'none' },
  '%=': { power: 2, assoc: 'none' },
  '//=': { power: 2, assoc: 'none' },
  or: { power: 3, assoc: 'left' },
  and: { power: 4, assoc: 'left' },
  '==': { power: 5, assoc: 'none' },
  '!=': { power: 5, assoc: 'none' },
  '<': { power: 5, assoc: 'none' },
  '<=': { power: 5, assoc: 'none' },
  '>': { power: 5, assoc: 'none' },
  '>=': { power: 5, assoc: 'none' },
  '+': { power: 6, assoc: 'left' },
  '-': { power: 6, assoc: 'left' },
  '*': { power: 7, assoc: 'left' },
  '/': { power: 7, assoc: 'left' },
  '%': { power: 7, assoc: 'left' },
};

/** Bounds the depth of the tree, and so the recursion of everything that walks it. */
const MAX_DEPTH = 400;

/** Parses a whole program. */
export function parse(source: string): Node {
  return new Parser(source, lex(source).tokens, 0).program();
}

/** Parses the inside of a template's `${ … }` that starts at `start`; `end` is behind the brace. */
export function parseEmbedded(source: string, start: number): { node: Node; end: number } {
  const { tokens, end } = lex(source, start, '}');
  return { node: new Parser(source, tokens, 0).program(), end };
}

class Parser implements ParserRules {
  private position = 0;
  private readonly source: string;
  private readonly tokens: Token[];
  private depth: number;

  constructor(source: string, tokens: Token[], depth: number) {
    this.source = source;
    this.tokens = tokens;
    this.depth = depth;
  }

  /** A program or the inside of an interpolation: everything up to the end. */
  program(): Node {
    const token = this.peek();
    if (token.type === 'end') return { t: 'identity', at: token.at };
    const node = this.query();
    const rest = this.peek();
    if (rest.type !== 'end') this.unexpected(rest);
    return node;
  }

  peek(): Token {
    const token = this.tokens[this.position];
    if (token === undefined)
      throw compileError(this.source, this.source.length, 'syntax error, unexpected end of file');
    return token;
  }

  take(): Token {
    const token = this.peek();
    if (token.type !== 'end') this.position++;
    return token;
  }

  /** Un-reads the last token. */
  back(): void {
    this.position--;
  }

  isOp(text: string): boolean {
    const token = this.peek();
    return token.type === 'op' && token.text === text;
  }

  accept(text: string): boolean {
    if (!this.isOp(text)) return false;
    this.position++;
    return true;
  }

  expect(text: string): Token {
    if (!this.isOp(text)) this.unexpected(this.peek(), `'${text}'`);
    return this.take();
  }

  isKeyword(text: string): boolean {
    const token = this.peek();
    return token.type === 'keyword' && token.text === text;
  }

  private expectKeyword(text: string): void {
    if (!this.isKeyword(text)) this.unexpected(this.peek(), `'${text}'`);
    this.position++;
  }

  unexpected(token: Token, expected?: string): never {
    const name =
      token.type === 'end' && token.text !== 'end of file'
        ? `'${token.text}'`
        : token.type === 'end'
          ? token.text
          : `'${this.source.slice(token.at, token.end)}'`;
    throw compileError(
      this.source,
      token.at,
      `syntax error, unexpected ${name}${expected ? `, expecting ${expected}` : ''}`,
    );
  }

  fail(at: number, message: string): never {
    throw compileError(this.source, at, message);
  }

  private enter(): void {
    if (++this.depth > MAX_DEPTH)
      throw compileError(this.source, this.peek().at, 'Expression is nested too deeply', { code: 'limit' });
  }

  /** Query: pipes of comma lists; `def`, `label` and `as` reach to the end of the query. */
  query(): Node {
    this.enter();
    const stages: Node[] = [];
    do {
      const items: Node[] = [];
      do items.push(this.queryItem());
      while (this.accept(','));
      stages.push(balance(items, 'comma'));
    } while (this.accept('|'));
    this.depth--;
    return balance(stages, 'pipe');
  }

  private queryItem(): Node {
    const token = this.peek();
    if (token.type === 'keyword') {
      if (token.text === 'def') {
        const fn = this.functionDefinition();
        if (this.peek().type === 'end')
          return { t: 'def', fn, body: { t: 'identity', at: this.peek().at }, at: token.at };
        return { t: 'def', fn, body: this.query(), at: token.at };
      }
      if (token.text === 'label') {
        this.take();
        const name = this.take();
        if (name.type !== 'variable') this.unexpected(name, 'a label such as $out');
        this.expect('|');
        return { t: 'label', name: name.text, body: this.query(), at: token.at };
      }
      if (token.text === 'import' || token.text === 'include' || token.text === 'module') {
        throw compileError(
          this.source,
          token.at,
          `${token.text} is not available: an expression has no modules`,
          { code: 'refused' },
        );
      }
    }
    const node = this.expression(0);
    if (!this.isKeyword('as')) return node;
    this.take();
    const patterns = this.patterns();
    this.expect('|');
    return { t: 'bind', source: node, patterns, body: this.query(), at: token.at };
  }

  private patterns() {
    return new PatternParser(this).patterns();
  }

  private functionDefinition(): FunctionNode {
    const { at } = this.take();
    const name = this.take();
    // jq lets keywords name functions nowhere, but their parameters may be any variable.
    if (name.type !== 'word') this.unexpected(name, 'a function name');
    const params: Param[] = [];
    if (this.accept('(')) {
      do {
        const param = this.take();
        if (param.type !== 'word' && param.type !== 'variable') this.unexpected(param, 'a parameter');
        params.push({ name: param.text, isValue: param.type === 'variable' });
      } while (this.accept(';'));
      this.expect(')');
    }
    this.expect(':');
    const body = this.query();
    this.expect(';');
    return { name: name.text, params, body, at };
  }

  private operator(): [string, Operator] | null {
    const token = this.peek();
    if (token.type !== 'op' && !(token.type === 'keyword' && (token.text === 'and' || token.text === 'or')))
      return null;
    const operator = Object.hasOwn(binary, token.text) ? binary[token.text] : undefined;
    return operator ? [token.text, operator] : null;
  }

  expression(minPower: number): Node {
    this.enter();
    let left = this.postfix();
    let blocked = -1;
    let chain = 0;
    for (;;) {
      const found = this.operator();
      if (found === null) break;
      const [text, { power, assoc }] = found;
      if (power < minPower) break;
      const token = this.peek();
      if (power === blocked || ++chain > MAX_DEPTH) {
        if (power === blocked) this.unexpected(token);
        throw compileError(this.source, token.at, 'Expression is nested too deeply', { code: 'limit' });
      }
      this.take();
      const right = this.expression(assoc === 'right' ? power : power + 1);
      left = this.combine(text, left, right, token.at);
      blocked = assoc === 'none' ? power : -1;
    }
    this.depth--;
    return left;
  }

  private combine(text: string, left: Node, right: Node, at: number): Node {
    switch (text) {
      case '//':
        return { t: 'alternative', left, right, at };
      case 'and':
      case 'or':
        return { t: text, left, right, at };
      case '=':
      case '|=':
      case '+=':
      case '-=':
      case '*=':
      case '/=':
      case '%=':
      case '//=':
        return { t: 'update', op: text satisfies UpdateOperator, left, right, at };
      default:
        // The table of operators holds nothing else.
        return { t: 'binary', op: text as BinaryOperator, left, right, at };
    }
  }

  /** Term with its suffixes: `.a`, `."a"`, `[…]`, `[]`, `?`. */
  postfix(): Node {
    this.enter();
    let node = this.primary();
    for (let suffixes = 0; ; suffixes++) {
      const token = this.peek();
      if (suffixes > MAX_DEPTH)
        throw compileError(this.source, token.at, 'Expression is nested too deeply', { code: 'limit' });
      if (token.type === 'field') {
        this.take();
        node = {
          t: 'index',
          of: node,
          key: { t: 'literal', value: token.text, at: token.at },
          optional: this.optional(),
          at: token.at,
        };
      } else if (token.type === 'op' && token.text === '.') {
        this.take();
        const next = this.peek();
        if (next.type === 'string' || next.type === 'format') {
          const key = this.string();
          node = { t: 'index', of: node, key, optional: this.optional(), at: token.at };
        } else if (this.isOp('[')) node = this.bracket(node);
        else this.fail(token.at, 'try .["field"] instead of .field for unusually named fields');
      } else if (token.type === 'op' && token.text === '[') node = this.bracket(node);
      else if (token.type === 'op' && token.text === '?') {
        this.take();
        node = { t: 'try', body: node, handler: null, at: token.at };
      } else if (token.type === 'op' && token.text === '?//') {
        // jq's lexer reads the `?//` in `.a?//1` as the pattern operator, but the meaning is clear.
        this.tokens[this.position] = { type: 'op', text: '//', at: token.at + 1, end: token.end };
        node = { t: 'try', body: node, handler: null, at: token.at };
      } else break;
    }
    this.depth--;
    return node;
  }

  private optional(): boolean {
    return this.accept('?');
  }

  private bracket(of: Node): Node {
    const { at } = this.expect('[');
    if (this.accept(']')) return { t: 'iterate', of, optional: this.optional(), at };
    if (this.accept(':')) {
      const to = this.query();
      this.expect(']');
      return { t: 'slice', of, from: null, to, optional: this.optional(), at };
    }
    const key = this.query();
    if (this.accept(':')) {
      const to = this.isOp(']') ? null : this.query();
      this.expect(']');
      return { t: 'slice', of, from: key, to, optional: this.optional(), at };
    }
    this.expect(']');
    return { t: 'index', of, key, optional: this.optional(), at };
  }

  private primary(): Node {
    const token = this.take();
    const { at, text } = token;
    switch (token.type) {
      case 'number':
        return { t: 'literal', value: Number(text), at };
      case 'string':
        this.position--;
        return this.string();
      case 'format':
        if (this.peek().type === 'string') {
          this.position--;
          return this.string();
        }
        return { t: 'format', name: text, at };
      case 'field':
        return {
          t: 'index',
          of: { t: 'identity', at },
          key: { t: 'literal', value: text, at },
          optional: this.optional(),
          at,
        };
      case 'variable':
        return text === '__loc__' ? this.location(at) : { t: 'variable', name: text, at };
      case 'word':
        return this.word(text, at);
      case 'keyword':
        return this.keyword(token);
      case 'op':
        return this.punctuation(token);
      default:
        return this.unexpected(token);
    }
  }

  location(at: number): Node {
    const line = this.source.slice(0, at).split('\n').length;
    return { t: 'literal', value: { file: '<top-level>', line }, at };
  }

  private word(name: string, at: number): Node {
    if (this.accept('(')) {
      const args: Node[] = [];
      do args.push(this.query());
      while (this.accept(';'));
      this.expect(')');
      return { t: 'call', name, args, at };
    }
    if (name === 'true' || name === 'false') return { t: 'literal', value: name === 'true', at };
    if (name === 'null') return { t: 'literal', value: null, at };
    return { t: 'call', name, args: [], at };
  }

  private punctuation(token: Token): Node {
    const { at } = token;
    switch (token.text) {
      case '.': {
        const next = this.peek();
        if (next.type === 'string' || next.type === 'format') {
          const key = this.string();
          return { t: 'index', of: { t: 'identity', at }, key, optional: this.optional(), at };
        }
        if (next.type === 'word' || next.type === 'keyword') {
          if (next.type === 'word' || next.at === token.end)
            this.fail(at, 'try .["field"] instead of .field for unusually named fields');
        }
        return { t: 'identity', at };
      }
      case '..':
        return { t: 'call', name: 'recurse', args: [], at };
      case '-':
        return { t: 'negate', of: this.postfix(), at };
      case '(': {
        const node = this.query();
        this.expect(')');
        return node;
      }
      case '[': {
        if (this.accept(']')) return { t: 'array', body: null, at };
        const body = this.query();
        this.expect(']');
        return { t: 'array', body, at };
      }
      case '{':
        return new ObjectParser(this).object(at);
      default:
        return this.unexpected(token);
    }
  }

  private keyword(token: Token): Node {
    const { at } = token;
    switch (token.text) {
      case 'if':
        return this.conditional(at);
      case 'try': {
        const body = this.postfix();
        if (!this.isKeyword('catch')) return { t: 'try', body, handler: null, at };
        this.take();
        return { t: 'try', body, handler: this.postfix(), at };
      }
      case 'reduce':
      case 'foreach': {
        const source = this.expression(0);
        this.expectKeyword('as');
        const patterns = this.patterns();
        this.expect('(');
        const init = this.query();
        this.expect(';');
        const update = this.query();
        const extract = token.text === 'foreach' && this.accept(';') ? this.query() : null;
        this.expect(')');
        if (token.text === 'reduce') return { t: 'reduce', source, patterns, init, update, at };
        return { t: 'foreach', source, patterns, init, update, extract, at };
      }
      case 'break': {
        const name = this.take();
        if (name.type !== 'variable') this.fail(at, 'break requires a label to break to');
        return { t: 'break', name: name.text, at };
      }
      default:
        return this.unexpected(token);
    }
  }

  private conditional(at: number): Node {
    this.enter();
    const condition = this.query();
    this.expectKeyword('then');
    const consequent = this.query();
    let otherwise: Node | null = null;
    const next = this.peek();
    if (this.isKeyword('elif')) {
      this.take();
      otherwise = this.conditional(next.at);
    } else {
      if (this.isKeyword('else')) {
        this.take();
        otherwise = this.query();
      }
      if (!this.isKeyword('end')) this.unexpected(this.peek(), "'end' of the 'if'");
      this.take();
    }
    this.depth--;
    return { t: 'if', condition, consequent, otherwise, at };
  }

  /** A string, with its format if one stands before it. */
  string(): Node {
    let token = this.take();
    const { at } = token;
    let format: string | null = null;
    if (token.type === 'format') {
      format = token.text;
      token = this.take();
    }
    if (token.type !== 'string') this.unexpected(token, 'a string');
    const parts = (token.parts ?? []).map((part) =>
      typeof part === 'string' ? part : new Parser(this.source, part, this.depth + 1).interpolation(),
    );
    if (parts.every((part) => typeof part === 'string')) return { t: 'literal', value: parts.join(''), at };
    return { t: 'string', format, parts, at };
  }

  private interpolation(): Node {
    this.enter();
    if (this.peek().type === 'end') this.unexpected(this.peek());
    return this.program();
  }

  /** A constant key must be a string; jq reports this at compile time. */
  checkKey(key: Node): void {
    if (key.t === 'literal' && typeof key.value !== 'string')
      this.fail(key.at, `Cannot use ${describe(key.value)} as object key`);
  }
}
