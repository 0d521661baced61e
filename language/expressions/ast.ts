/** The syntax tree. `at` is the offset of the node in the source. */
import type { Json } from './values/json-types.ts';

type ArithmeticOperator = '+' | '-' | '*' | '/' | '%';
export type BinaryOperator = ArithmeticOperator | '==' | '!=' | '<' | '<=' | '>' | '>=';
export type UpdateOperator = '=' | '|=' | '+=' | '-=' | '*=' | '/=' | '%=' | '//=';

export interface Param {
  name: string;
  /** `$name`: evaluated before the body, once for each of its outputs. */
  isValue: boolean;
}

export interface FunctionNode {
  name: string;
  params: Param[];
  body: Node;
  at: number;
}

export type Pattern =
  | { t: 'var'; name: string; at: number }
  | { t: 'array'; elements: Pattern[]; at: number }
  | { t: 'object'; entries: { key: Node; variable: string | null; value: Pattern | null }[]; at: number };

export type Node =
  | { t: 'identity'; at: number }
  | { t: 'literal'; value: Json; at: number }
  | { t: 'string'; format: string | null; parts: (string | Node)[]; at: number }
  | { t: 'format'; name: string; at: number }
  | { t: 'index'; of: Node; key: Node; optional: boolean; at: number }
  | { t: 'slice'; of: Node; from: Node | null; to: Node | null; optional: boolean; at: number }
  | { t: 'iterate'; of: Node; optional: boolean; at: number }
  | { t: 'try'; body: Node; handler: Node | null; at: number }
  | { t: 'negate'; of: Node; at: number }
  | { t: 'pipe'; left: Node; right: Node; at: number }
  | { t: 'comma'; left: Node; right: Node; at: number }
  | { t: 'binary'; op: BinaryOperator; left: Node; right: Node; at: number }
  | { t: 'and'; left: Node; right: Node; at: number }
  | { t: 'or'; left: Node; right: Node; at: number }
  | { t: 'alternative'; left: Node; right: Node; at: number }
  | { t: 'update'; op: UpdateOperator; left: Node; right: Node; at: number }
  | { t: 'if'; condition: Node; consequent: Node; otherwise: Node | null; at: number }
  | { t: 'reduce'; source: Node; patterns: Pattern[]; init: Node; update: Node; at: number }
  | {
      t: 'foreach';
      source: Node;
      patterns: Pattern[];
      init: Node;
      update: Node;
      extract: Node | null;
      at: number;
    }
  | { t: 'def'; fn: FunctionNode; body: Node; at: number }
  | { t: 'bind'; source: Node; patterns: Pattern[]; body: Node; at: number }
  | { t: 'label'; name: string; body: Node; at: number }
  | { t: 'break'; name: string; at: number }
  | { t: 'call'; name: string; args: Node[]; at: number }
  | { t: 'variable'; name: string; at: number }
  | { t: 'array'; body: Node | null; at: number }
  | { t: 'object'; entries: { key: Node; value: Node }[]; at: number };
