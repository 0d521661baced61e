/**
 * Matches a text against a pattern in time linear in both: it follows all paths through the pattern at once
 * and visits each state once per position.
 */
import { Cache } from '../expressions/cache.ts';
import type { Budget } from './budget.ts';
import {
  parsePattern,
  UnsupportedPattern,
  type AnchorKind,
  type Instruction,
  type LookKind,
} from './pattern-parser.ts';

export { UnsupportedPattern } from './pattern-parser.ts';

export interface Pattern {
  /** Instructions that it keeps; 0 for what the engine matches. */
  size: number;
  /** Whether it matches anywhere in the text. @throws LimitExceeded */
  test(text: string, budget: Budget): boolean;
}

/** The instructions that all patterns of one schema may have together, so that they are compiled once. */
export const MAX_PATTERNS_SIZE = 100_000;
/** Some 50 bytes for each instruction. */
const patterns = new Cache<Pattern>(500, 4 * MAX_PATTERNS_SIZE);
/** Why patterns cannot be used: to find it out may take as long as to compile a large one. */
const refusals = new Cache<UnsupportedPattern>(500, 500);

/** @throws UnsupportedPattern, SyntaxError */
export function compilePattern(source: string): Pattern {
  const refusal = refusals.get(source);
  if (refusal) throw refusal;
  let pattern = patterns.get(source);
  if (!pattern) {
    try {
      pattern = build(source);
    } catch (error) {
      if (error instanceof UnsupportedPattern) refusals.set(source, error, 1);
      throw error;
    }
    patterns.set(source, pattern, pattern.size);
  }
  return pattern;
}

/**
 * Anchored patterns with at most one repetition: the engine's own matcher is linear for them too, and faster.
 */
const PLAIN = new RegExp(
  [
    String.raw`^\^(?:[^\\()[\]{}|*+?.^$]|\.|\[(?:[^\]\\]|\\[^])*\]|\\[^1-9kbBuxcpP])*`,
    String.raw`(?:[*+?]\??|\{\d{1,4}(?:,\d{0,4})?\}\??)?`,
    String.raw`(?:[^\\()[\]{}|*+?.^$]|\.|\[(?:[^\]\\]|\\[^])*\]|\\[^1-9kbBuxcpP])*\$?$`,
  ].join(''),
  'u',
);

function build(source: string): Pattern {
  const native = new RegExp(source, 'u');
  // Also of a plain one, to refuse the same patterns.
  const parsed = parsePattern(source);
  return PLAIN.test(source) ? plain(native) : followed(parsed);
}

function plain(native: RegExp): Pattern {
  return {
    size: 0,
    test: (text, budget) => {
      budget.spend(text.length >> 3);
      return native.test(text);
    },
  };
}

function followed({ program, size }: ReturnType<typeof parsePattern>): Pattern {
  return {
    size,
    test: (text, budget) => {
      budget.spend(text.length >> 1);
      return search(
        program,
        Array.from(text, (char) => char.codePointAt(0) ?? 0),
        budget,
      );
    },
  };
}

/** `from`: where a match may start, from there on or (`only`) exactly there. `endAt`: the only valid end. */
interface Range {
  from: number;
  only: boolean;
  endAt: number | null;
}

function search(
  program: Instruction[],
  points: readonly number[],
  budget: Budget,
  { from, only, endAt }: Range = { from: 0, only: false, endAt: null },
): boolean {
  const seen = new Int32Array(program.length).fill(-1);
  let live: number[] = [];
  for (let at = from; at <= (endAt ?? points.length); at++) {
    const here: number[] = [];
    const open = at === from || !only ? [...live, 0] : live;
    const matched = follow(program, open, at, points, budget, seen, here);
    if (matched && (endAt === null || at === endAt)) return true;
    if (here.length === 0 && only) return false;
    const point = points[at];
    live = [];
    if (point === undefined) break;
    for (const pc of here) {
      const instruction = program[pc];
      if (instruction?.op === 'char' && instruction.test(point)) live.push(pc + 1);
    }
  }
  return false;
}

/**
 * Follows all states of `open` without consuming a character; `here` gets those that need one. @returns
 * whether an end state was reached
 */
function follow(
  program: Instruction[],
  open: number[],
  at: number,
  points: readonly number[],
  budget: Budget,
  seen: Int32Array,
  here: number[],
): boolean {
  let matched = false;
  const stack = open;
  budget.spend(stack.length + 1);
  for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
    if (seen[pc] === at) continue;
    seen[pc] = at;
    budget.spend(1);
    const instruction = program[pc];
    switch (instruction?.op) {
      case 'match':
        matched = true;
        break;
      case 'char':
        here.push(pc);
        break;
      case 'split':
        stack.push(...instruction.to);
        break;
      case 'anchor':
        if (holds(instruction.kind, points, at)) stack.push(pc + 1);
        break;
      case 'look':
        if (looks(instruction.kind, instruction.program, points, at, budget)) stack.push(pc + 1);
        break;
      case undefined:
        break;
    }
  }
  return matched;
}

function looks(
  kind: LookKind,
  program: Instruction[],
  points: readonly number[],
  at: number,
  budget: Budget,
): boolean {
  const range =
    kind === '(?=' || kind === '(?!'
      ? { from: at, only: true, endAt: null }
      : { from: 0, only: false, endAt: at };
  return search(program, points, budget, range) === (kind === '(?=' || kind === '(?<=');
}

function holds(kind: AnchorKind, points: readonly number[], at: number): boolean {
  switch (kind) {
    case '^':
      return at === 0;
    case '$':
      return at === points.length;
    default:
      return (isWord(points[at - 1]) !== isWord(points[at])) === (kind === String.raw`\b`);
  }
}

function isWord(point: number | undefined): boolean {
  return point !== undefined && /^\w$/.test(String.fromCodePoint(point));
}

/** Why a pattern cannot be used, or null. */
export function patternProblem(source: string): string | null {
  try {
    compilePattern(source);
    return null;
  } catch (error) {
    return error instanceof UnsupportedPattern
      ? error.message
      : 'is not a regular expression (ECMA-262 with the flag u)';
  }
}
