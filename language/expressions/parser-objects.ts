/** Object construction: `{a: 1, "b", $c, (d): e}`. */
import { balance } from './balance.ts';
import { KEYWORDS } from './lexer.ts';
import type { Node } from './ast.ts';
import type { ParserRules } from './parser-rules.ts';

export class ObjectParser {
  private readonly parser: ParserRules;

  constructor(parser: ParserRules) {
    this.parser = parser;
  }

  object(at: number): Node {
    const { parser } = this;
    const entries: { key: Node; value: Node }[] = [];
    while (!parser.isOp('}')) {
      entries.push(this.objectEntry());
      if (!parser.accept(',')) break;
    }
    if (!parser.isOp('}')) {
      const token = parser.peek();
      if (parser.isOp('+') || parser.isOp(':'))
        parser.fail(token.at, 'May need parentheses around object key expression');
      parser.unexpected(token, "'}'");
    }
    parser.take();
    return { t: 'object', entries, at };
  }

  private objectEntry(): { key: Node; value: Node } {
    const { parser } = this;
    const token = parser.take();
    const { at, text } = token;
    const literal: Node = { t: 'literal', value: text, at };
    if (token.type === 'word' || (token.type === 'keyword' && KEYWORDS.has(text))) {
      if (parser.accept(':')) return { key: literal, value: this.objectValue() };
      return {
        key: literal,
        value: { t: 'index', of: { t: 'identity', at }, key: literal, optional: false, at },
      };
    }
    if (token.type === 'variable') {
      const value: Node = text === '__loc__' ? parser.location(at) : { t: 'variable', name: text, at };
      if (text !== '__loc__' && parser.accept(':')) return { key: value, value: this.objectValue() };
      return { key: literal, value };
    }
    if (token.type === 'string' || (token.type === 'format' && parser.peek().type === 'string')) {
      parser.back();
      const key = parser.string();
      if (parser.accept(':')) return { key, value: this.objectValue() };
      return { key, value: { t: 'index', of: { t: 'identity', at }, key, optional: false, at } };
    }
    if (token.type === 'op' && text === '(') {
      const key = parser.query();
      parser.expect(')');
      parser.checkKey(key);
      parser.expect(':');
      return { key, value: this.objectValue() };
    }
    if (token.type === 'number') parser.fail(at, 'May need parentheses around object key expression');
    return parser.unexpected(token);
  }

  private objectValue(): Node {
    const { parser } = this;
    const stages = [parser.expression(0)];
    while (parser.accept('|')) stages.push(parser.expression(0));
    return balance(stages, 'pipe');
  }
}
