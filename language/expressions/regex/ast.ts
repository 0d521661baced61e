/** Syntax tree of a regular expression. */
export type Test = (point: number) => boolean;

export type AssertKind = 'begin' | 'lineBegin' | 'end' | 'lineEnd' | 'semiEnd' | 'word' | 'notWord' | 'start';

export type RegexNode =
  | { k: 'empty' }
  | { k: 'char'; point: number; fold: boolean }
  | { k: 'set'; test: Test }
  | { k: 'sequence'; items: RegexNode[] }
  | { k: 'choice'; items: RegexNode[] }
  | { k: 'group'; index: number; body: RegexNode }
  | { k: 'repeat'; body: RegexNode; min: number; max: number; mode: 'greedy' | 'lazy' | 'possessive' }
  | { k: 'look'; ahead: boolean; negative: boolean; body: RegexNode }
  | { k: 'atomic'; body: RegexNode }
  | { k: 'assert'; kind: AssertKind }
  | { k: 'reference'; groups: number[]; fold: boolean }
  | { k: 'call'; group: number }
  | { k: 'keep' };

export interface ParsedRegex {
  node: RegexNode;
  groupCount: number;
  /** Names of the groups, by group number. */
  names: Map<number, string>;
}

export interface RegexOptions {
  ignoreCase: boolean;
  /** White space and comments in the pattern are ignored. */
  extended: boolean;
  /** `.` matches a newline. */
  dotAll: boolean;
  /** `^` and `$` match at the ends of the subject only. */
  singleLine: boolean;
  longest: boolean;
  notEmpty: boolean;
}
