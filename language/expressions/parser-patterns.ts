/** Destructuring patterns: `$a`, `[$a, $b]`, `{a: $b}`, and alternatives with `?//`. */
import type { Node, Pattern } from './ast.ts';
import type { ParserRules } from './parser-rules.ts';

export class PatternParser {
  private readonly parser: ParserRules;

  constructor(parser: ParserRules) {
    this.parser = parser;
  }

  patterns(): Pattern[] {
    const out = [this.pattern(0)];
    while (this.parser.accept('?//')) out.push(this.pattern(0));
    return out;
  }

  private pattern(depth: number): Pattern {
    const { parser } = this;
    const token = parser.take();
    const { at } = token;
    if (depth > 100) parser.fail(at, 'Pattern is nested too deeply');
    if (token.type === 'variable') return { t: 'var', name: token.text, at };
    if (token.type === 'op' && token.text === '[') {
      const elements: Pattern[] = [];
      do elements.push(this.pattern(depth + 1));
      while (parser.accept(','));
      parser.expect(']');
      return { t: 'array', elements, at };
    }
    if (token.type === 'op' && token.text === '{') {
      const entries: { key: Node; variable: string | null; value: Pattern | null }[] = [];
      do entries.push(this.entry(depth));
      while (parser.accept(','));
      parser.expect('}');
      return { t: 'object', entries, at };
    }
    return parser.unexpected(token, "a variable, '[' or '{'");
  }

  private entry(depth: number): { key: Node; variable: string | null; value: Pattern | null } {
    const { parser } = this;
    const token = parser.peek();
    const { at } = token;
    if (token.type === 'variable') {
      parser.take();
      const key: Node = { t: 'literal', value: token.text, at };
      return { key, variable: token.text, value: parser.accept(':') ? this.pattern(depth + 1) : null };
    }
    let key: Node;
    if (token.type === 'word' || token.type === 'keyword') {
      parser.take();
      key = { t: 'literal', value: token.text, at };
    } else if (token.type === 'string' || token.type === 'format') key = parser.string();
    else if (parser.accept('(')) {
      key = parser.query();
      parser.expect(')');
      parser.checkKey(key);
    } else return parser.unexpected(token);
    parser.expect(':');
    return { key, variable: null, value: this.pattern(depth + 1) };
  }
}
