import type { Node } from './ast.ts';
import type { Token } from './lexer.ts';

/**
 * The parser's interface for the modules that parse objects and patterns: tokens, and the rules that they
 * need.
 */
export interface ParserRules {
  peek(): Token;
  take(): Token;
  back(): void;
  isOp(text: string): boolean;
  accept(text: string): boolean;
  expect(text: string): Token;
  unexpected(token: Token, expected?: string): never;
  fail(at: number, message: string): never;
  query(): Node;
  expression(minPower: number): Node;
  string(): Node;
  location(at: number): Node;
  checkKey(key: Node): void;
}
