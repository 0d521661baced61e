/**
 * The matcher: backtracking with a stack of its own, so that no subject can overflow the JavaScript
 * stack, and with a budget of steps, so that no pattern can run away.
 */
import { exceed, runtime } from '../runtime.ts';
import { fold, isWord } from './classes.ts';
import { ASSERTS, op, type RegexProgram } from './program.ts';

const { rt } = runtime;

interface Return {
  to: number;
  up: Return | null;
  depth: number;
}

// Stack entries are four numbers. A first number at or above 0 is a choice point: the instruction to go on
// with, and the position. The others:
/** Restore a slot: slot, old value. */
const UNDO = -1;
/** A greedy loop may give back a character: instruction, least position, position. */
const GIVE_BACK = -2;
/** A lazy loop may take one more: the loop's instruction, position, last position. */
const TAKE_MORE = -3;

/** The instruction pointer at the end of a match. */
const MATCHED = -1;

const MAX_STACK = 4_000_000;
const MAX_CALLS = 2_000;

/** What a step does besides: comparing texts, and asking classes of many parts. */
function work(units: number): void {
  if (units > 0 && (rt.regexWorkLeft -= units) < 0) exceed('regexSteps');
}

function outOfSteps(left: number): never {
  rt.regexStepsLeft = left;
  exceed('regexSteps');
}

export class Matcher {
  private readonly program: RegexProgram;
  private readonly points: readonly number[];
  private readonly slots: Int32Array;
  private readonly stack: number[] = [];
  private readonly returns: (Return | null)[] = [];
  private readonly longest: boolean;
  private readonly notEmpty: boolean;
  private searchStart = 0;
  private best: Int32Array | null = null;
  /** Where `run` goes on after an instruction that is not its own: instruction, position, return address. */
  private pc = 0;
  private at = 0;
  private ret: Return | null = null;

  constructor(program: RegexProgram, points: readonly number[], longest: boolean, notEmpty: boolean) {
    this.program = program;
    this.points = points;
    this.longest = longest;
    this.notEmpty = notEmpty;
    this.slots = new Int32Array(program.slots);
  }

  /** The slots (start and end by group) of the first match at or behind `from`, or null. */
  search(from: number): Int32Array | null {
    const { firstPoint, isAnchored } = this.program;
    this.searchStart = from;
    this.best = null;
    const last = isAnchored ? 0 : this.points.length;
    // A failed run goes back to where it began, so the next one finds all of this as it was.
    work(this.slots.length >> 6);
    this.slots.fill(-1);
    this.stack.length = 0;
    this.returns.length = 0;
    for (let start = from; start <= last; start++) {
      if (firstPoint >= 0) {
        start = this.points.indexOf(firstPoint, start);
        if (start < 0) return this.best;
      }
      this.slots[0] = start;
      if (--rt.regexStepsLeft < 0) exceed('regexSteps');
      const end = this.run(0, start, null, 0);
      if (end >= 0) {
        this.slots[1] = end;
        return this.slots.slice();
      }
    }
    // Where the longest match is asked for, every start has been tried.
    return this.best;
  }

  private push(kind: number, a: number, b: number, c: number, ret: Return | null): void {
    if (this.stack.length > MAX_STACK) exceed('regexSteps');
    this.stack.push(kind, a, b, c);
    this.returns.push(ret);
  }

  private setSlot(slot: number, value: number): void {
    this.push(UNDO, slot, this.slots[slot] ?? -1, 0, null);
    this.slots[slot] = value;
  }

  /** Drops the choice points above `base`, but keeps what restores the slots. */
  private cut(base: number): void {
    const { stack, returns } = this;
    let kept = base;
    for (let i = base; i < stack.length; i += 4) {
      if (stack[i] !== UNDO) continue;
      for (let j = 0; j < 4; j++) stack[kept + j] = stack[i + j] ?? 0;
      kept += 4;
    }
    stack.length = kept;
    returns.length = kept >> 2;
  }

  /** Restores the slots as they were when the stack was `base` high. */
  private unwind(base: number): void {
    const { stack } = this;
    for (let i = stack.length - 4; i >= base; i -= 4)
      if (stack[i] === UNDO) this.slots[stack[i + 1] ?? 0] = stack[i + 2] ?? -1;
    stack.length = base;
    this.returns.length = base >> 2;
  }

  /**
   * Runs from the instruction `pc` at the position `at`; returns the end position, or -1. `stopAt`: the only
   * end that counts.
   */
  private run(pc: number, at: number, ret: Return | null, nesting: number, stopAt = -1): number {
    const { code, sets, costs } = this.program;
    const { points } = this;
    const base = this.stack.length;
    let steps = rt.regexStepsLeft;
    for (;;) {
      if (--steps < 0) outOfSteps(steps);
      let ok = true;
      const i = pc * 4;
      const operand = code[i + 1] ?? 0;
      switch (code[i]) {
        case op.char:
          ok = at < points.length && points[at] === operand;
          at++;
          pc++;
          break;
        case op.set:
          work(costs[operand] ?? 0);
          ok = at < points.length && (sets[operand]?.(points[at] ?? 0) ?? false);
          at++;
          pc++;
          break;
        case op.repeat: {
          const end = this.repeat(i, at, ret);
          ok = end >= 0;
          const taken = (ok ? end : ~end) - at;
          steps -= taken >> 2;
          work((costs[operand] ?? 0) * (taken + 1));
          at = end;
          pc += 2;
          break;
        }
        case op.split:
          this.push(code[i + 2] ?? 0, at, 0, 0, ret);
          pc = operand;
          break;
        case op.jump:
          pc = operand;
          break;
        case op.save:
          this.setSlot(operand, at);
          pc++;
          break;
        default:
          rt.regexStepsLeft = steps;
          ok = this.control(i, at, ret, nesting, stopAt);
          if (ok && this.pc === MATCHED) return at;
          steps = rt.regexStepsLeft;
          ({ pc, at, ret } = this);
      }
      if (ok) continue;
      if (!this.backtrack(base)) {
        rt.regexStepsLeft = steps;
        return -1;
      }
      ({ pc, at, ret } = this);
    }
  }

  /**
   * Runs a loop over one set of characters, whose instruction takes two places.
   * @returns the end of the loop; `~end` if it took too few characters
   */
  private repeat(i: number, at: number, ret: Return | null): number {
    const { code, sets } = this.program;
    const { points } = this;
    const min = code[i + 2] ?? 0;
    const limit = code[i + 3] ?? -1;
    const mode = code[i + 4] ?? 0;
    const test = sets[code[i + 1] ?? 0];
    const max = limit < 0 ? points.length : Math.min(points.length, at + limit);
    const goal = mode === 1 ? Math.min(max, at + min) : max;
    let end = at;
    while (end < goal && test?.(points[end] ?? 0)) end++;
    if (end - at < min) return ~end;
    const pc = i >> 2;
    if (mode === 0 && end > at + min) this.push(GIVE_BACK, pc + 2, at + min, end, ret);
    else if (mode === 1 && end < max) this.push(TAKE_MORE, pc, end, max, ret);
    return end;
  }

  /**
   * Runs an instruction that is seldom, or takes no character by itself. Sets `pc`, `at` and `ret` to where
   * it continues; `pc` is `MATCHED` at the end.
   * @returns false if it fails
   */
  private control(i: number, at: number, ret: Return | null, nesting: number, stopAt: number): boolean {
    const { code } = this.program;
    const operand = code[i + 1] ?? 0;
    const next = (i >> 2) + 1;
    switch (code[i]) {
      case op.charFold: {
        const takes = at < this.points.length && fold(this.points[at] ?? 0) === operand;
        return this.goOn(next, takes ? at + 1 : -1, ret);
      }
      case op.assert:
        return this.goOn(next, this.holds(operand, at) ? at : -1, ret);
      case op.look:
        return this.goOn(operand, this.look(i, at, ret, nesting), ret);
      case op.atomic:
        return this.goOn(operand, this.atomic(next, at, ret, nesting), ret);
      case op.reference:
        return this.goOn(next, this.reference(operand, at), ret);
      case op.emptyStart:
        this.setSlot(operand, at);
        return this.goOn(next, at, ret);
      case op.emptyCheck:
        // A round that took nothing ends the loop: the jump back is skipped.
        return this.goOn(this.slots[operand] === at ? next + 1 : next, at, ret);
      case op.call: {
        const depth = ret?.depth ?? 0;
        if (depth >= MAX_CALLS) exceed('regexSteps');
        return this.goOn(operand, at, { to: next, up: ret, depth: depth + 1 });
      }
      case op.ret:
        return this.goOn(ret?.to ?? 0, at, ret?.up ?? null);
      case op.keep:
        this.setSlot(0, at);
        return this.goOn(next, at, ret);
      case op.accept:
        return (stopAt < 0 || at === stopAt) && this.goOn(MATCHED, at, ret);
      default:
        return this.isResult(at) && this.goOn(MATCHED, at, ret);
    }
  }

  /** @returns false for an `at` of -1: there is no such position */
  private goOn(pc: number, at: number, ret: Return | null): boolean {
    this.pc = pc;
    this.at = at;
    this.ret = ret;
    return at >= 0;
  }

  /** Whether the end of the pattern at this position ends the search. The longest match is only kept. */
  private isResult(end: number): boolean {
    const start = this.slots[0] ?? 0;
    if (this.notEmpty && end === start) return false;
    if (!this.longest) return true;
    if (this.best === null || end - start > (this.best[1] ?? 0) - (this.best[0] ?? 0)) {
      work(this.slots.length >> 6);
      this.best = this.slots.slice();
      this.best[1] = end;
    }
    return false;
  }

  /**
   * Goes back to the last choice point above `base`, restores the slots on the way, and leaves in `pc`, `at`
   * and `ret` where to go on.
   * @returns false if there is none
   */
  private backtrack(base: number): boolean {
    const { stack, returns, points } = this;
    const { code, sets, costs } = this.program;
    while (stack.length > base) {
      const top = stack.length - 4;
      const kind = stack[top] ?? 0;
      const first = stack[top + 1] ?? 0;
      const second = stack[top + 2] ?? 0;
      const third = stack[top + 3] ?? 0;
      const ret = returns[top >> 2] ?? null;
      if (kind === GIVE_BACK && third - 1 > second) {
        // The choice point stays for the next character.
        stack[top + 3] = third - 1;
        return this.goOn(first, third - 1, ret);
      }
      stack.length = top;
      returns.length = top >> 2;
      if (kind >= 0) return this.goOn(kind, first, ret);
      if (kind === GIVE_BACK) return this.goOn(first, third - 1, ret);
      if (kind === UNDO) {
        this.slots[first] = second;
        continue;
      }
      const set = code[first * 4 + 1] ?? 0;
      work(costs[set] ?? 0);
      if (sets[set]?.(points[second] ?? 0)) {
        if (second + 1 < third) this.push(TAKE_MORE, first, second + 1, third, ret);
        return this.goOn(first + 2, second + 1, ret);
      }
    }
    return false;
  }

  private atomic(pc: number, at: number, ret: Return | null, nesting: number): number {
    this.nest(nesting);
    const base = this.stack.length;
    const end = this.run(pc, at, ret, nesting + 1);
    if (end >= 0) this.cut(base);
    return end;
  }

  private look(i: number, at: number, ret: Return | null, nesting: number): number {
    this.nest(nesting);
    const { code } = this.program;
    const pc = (i >> 2) + 1;
    const base = this.stack.length;
    const negative = code[i + 2] === 1;
    let found = false;
    if (code[i + 3] === 1) found = this.run(pc, at, ret, nesting + 1) >= 0;
    else
      for (let start = at; start >= 0 && !found; start--)
        found = this.run(pc, start, ret, nesting + 1, at) === at;
    if (negative) {
      if (found) this.unwind(base);
      return found ? -1 : at;
    }
    if (found) this.cut(base);
    return found ? at : -1;
  }

  private nest(nesting: number): void {
    if (nesting > 200) exceed('regexSteps');
  }

  private reference(index: number, at: number): number {
    const entry = this.program.references[index];
    const { points } = this;
    const groups = entry?.groups ?? [];
    work(groups.length >> 3);
    for (const group of groups.toReversed()) {
      const [start, end] = [this.slots[group * 2] ?? -1, this.slots[group * 2 + 1] ?? -1];
      if (start < 0 || end < 0) continue;
      const size = end - start;
      let same = at + size <= points.length;
      let compared = 0;
      for (; same && compared < size; compared++) {
        const [known, found] = [points[start + compared] ?? 0, points[at + compared] ?? 0];
        same = known === found || (entry?.fold === true && fold(known) === fold(found));
      }
      if (same) rt.regexStepsLeft -= size;
      else work(compared >> 3);
      return same ? at + size : -1;
    }
    return -1;
  }

  private holds(kind: number, at: number): boolean {
    const { points } = this;
    const end = points.length;
    switch (ASSERTS[kind]) {
      case 'begin':
        return at === 0;
      case 'lineBegin':
        return at === 0 || (points[at - 1] === 10 && at < end);
      case 'end':
        return at === end;
      case 'lineEnd':
        return at === end || points[at] === 10;
      case 'semiEnd':
        return at === end || (at === end - 1 && points[at] === 10);
      case 'start':
        return at === this.searchStart;
      default: {
        const before = at > 0 && isWord(points[at - 1] ?? 0);
        const after = at < end && isWord(points[at] ?? 0);
        return (before !== after) === (ASSERTS[kind] === 'word');
      }
    }
  }
}
