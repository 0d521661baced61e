/**
 * The matcher: backtracking with a stack of its own, so that no subject can overflow the JavaScript
 * stack, and with a budget of steps, so that no pattern can run away.
 */
import { exceed, runtime } from '../runtime.ts';
import { fold, isWord } from './classes.ts';
import { asserts, op, type RegexProgram } from './program.ts';

const { rt } = runtime;

interface Return {
  to: number;
  up: Return | null;
  depth: number;
}

/**
 * Stack entries are four numbers. A first number at or above 0 is a choice point: the instruction to
 * go on with, and the position. The others:
 */
/** Restore a slot: slot, old value. */
const undo = -1;
/** A greedy loop may give back a character: instruction, least position, position. */
const giveBack = -2;
/** A lazy loop may take one more: the loop's instruction, position, last position. */
const takeMore = -3;

const maxStack = 4_000_000;
const maxCalls = 2_000;

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
    for (let start = from; start <= last; start++) {
      if (firstPoint >= 0) {
        start = this.points.indexOf(firstPoint, start);
        if (start < 0) return this.best;
      }
      this.slots.fill(-1);
      this.stack.length = 0;
      this.returns.length = 0;
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
    if (this.stack.length > maxStack) exceed('regexSteps');
    this.stack.push(kind, a, b, c);
    this.returns.push(ret);
  }

  private setSlot(slot: number, value: number): void {
    this.push(undo, slot, this.slots[slot] ?? -1, 0, null);
    this.slots[slot] = value;
  }

  /** Drops the choice points above `base`, but keeps what restores the slots. */
  private cut(base: number): void {
    const { stack, returns } = this;
    let kept = base;
    for (let i = base; i < stack.length; i += 4) {
      if (stack[i] !== undo) continue;
      for (let j = 0; j < 4; j++) stack[kept + j] = stack[i + j] ?? 0;
      kept += 4;
    }
    stack.length = kept;
    returns.length = kept >> 2;
  }

  /** Restores the slots as they were when the stack was `base` high. */
  private unwind(base: number): void {
    const { stack } = this;
    for (let i = stack.length - 4; i >= base; i -= 4) if (stack[i] === undo) this.slots[stack[i + 1] ?? 0] = stack[i + 2] ?? -1;
    stack.length = base;
    this.returns.length = base >> 2;
  }

  /** Runs from an instruction; gives the end position, or -1. `stopAt`: the only end that counts. */
  private run(from: number, start: number, outer: Return | null, nesting: number, stopAt = -1): number {
    const { code, sets } = this.program;
    const { points, stack, returns } = this;
    const base = stack.length;
    const length = points.length;
    let pc = from;
    let at = start;
    let ret = outer;
    let steps = rt.regexStepsLeft;
    for (;;) {
      let ok = true;
      if (--steps < 0) {
        rt.regexStepsLeft = steps;
        exceed('regexSteps');
      }
      const i = pc * 4;
      const a = code[i + 1] ?? 0;
      switch (code[i]) {
        case op.char:
          ok = at < length && points[at] === a;
          at++;
          pc++;
          break;
        case op.charFold:
          ok = at < length && fold(points[at] ?? 0) === a;
          at++;
          pc++;
          break;
        case op.set:
          ok = at < length && (sets[a]?.(points[at] ?? 0) ?? false);
          at++;
          pc++;
          break;
        case op.split:
          this.push(code[i + 2] ?? 0, at, 0, 0, ret);
          pc = a;
          break;
        case op.jump:
          pc = a;
          break;
        case op.save:
          this.setSlot(a, at);
          pc++;
          break;
        case op.assert:
          ok = this.holds(a, at);
          pc++;
          break;
        case op.look:
        case op.atomic: {
          rt.regexStepsLeft = steps;
          const end = code[i] === op.atomic ? this.atomic(pc + 1, at, ret, nesting) : this.look(i, at, ret, nesting);
          steps = rt.regexStepsLeft;
          ok = end >= 0;
          at = end;
          pc = a;
          break;
        }
        case op.reference: {
          const end = this.reference(a, at);
          ok = end >= 0;
          steps -= ok ? end - at : 0;
          at = end;
          pc++;
          break;
        }
        case op.repeat: {
          const min = code[i + 2] ?? 0;
          const limit = code[i + 3] ?? -1;
          const mode = code[i + 4] ?? 0;
          const test = sets[a];
          const max = limit < 0 ? length : Math.min(length, at + limit);
          let end = at;
          const goal = mode === 1 ? Math.min(max, at + min) : max;
          while (end < goal && test?.(points[end] ?? 0)) end++;
          steps -= (end - at) >> 2;
          ok = end - at >= min;
          pc += 2;
          if (ok && mode === 0 && end > at + min) this.push(giveBack, pc, at + min, end, ret);
          else if (ok && mode === 1 && end < max) this.push(takeMore, pc - 2, end, max, ret);
          at = end;
          break;
        }
        case op.emptyStart:
          this.setSlot(a, at);
          pc++;
          break;
        case op.emptyCheck:
          // A round that took nothing ends the loop: the jump back is skipped.
          pc += this.slots[a] === at ? 2 : 1;
          break;
        case op.call:
          if ((ret?.depth ?? 0) >= maxCalls) exceed('regexSteps');
          ret = { to: pc + 1, up: ret, depth: (ret?.depth ?? 0) + 1 };
          pc = a;
          break;
        case op.ret:
          pc = ret?.to ?? 0;
          ret = ret?.up ?? null;
          break;
        case op.keep:
          this.setSlot(0, at);
          pc++;
          break;
        case op.accept:
          ok = stopAt < 0 || at === stopAt;
          if (ok) {
            rt.regexStepsLeft = steps;
            return at;
          }
          break;
        default:
          // The end of the pattern.
          if (this.notEmpty && at === this.slots[0]) ok = false;
          else if (this.longest) {
            if (this.best === null || at - (this.slots[0] ?? 0) > (this.best[1] ?? 0) - (this.best[0] ?? 0)) {
              this.best = this.slots.slice();
              this.best[1] = at;
            }
            ok = false;
          } else {
            rt.regexStepsLeft = steps;
            return at;
          }
      }
      if (ok) continue;
      // Backtrack.
      for (;;) {
        if (stack.length <= base) {
          rt.regexStepsLeft = steps;
          return -1;
        }
        const top = stack.length - 4;
        const kind = stack[top] ?? 0;
        const x = stack[top + 1] ?? 0;
        const y = stack[top + 2] ?? 0;
        const z = stack[top + 3] ?? 0;
        ret = returns[top >> 2] ?? null;
        if (kind === giveBack && z - 1 > y) {
          stack[top + 3] = z - 1;
          pc = x;
          at = z - 1;
          break;
        }
        stack.length = top;
        returns.length = top >> 2;
        if (kind === undo) {
          this.slots[x] = y;
          continue;
        }
        if (kind === giveBack) {
          pc = x;
          at = z - 1;
          break;
        }
        if (kind === takeMore) {
          if (!sets[code[x * 4 + 1] ?? 0]?.(points[y] ?? 0)) continue;
          pc = x + 2;
          at = y + 1;
          if (at < z) this.push(takeMore, x, at, z, ret);
          break;
        }
        pc = kind;
        at = x;
        break;
      }
    }
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
    else for (let start = at; start >= 0 && !found; start--) found = this.run(pc, start, ret, nesting + 1, at) === at;
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
    for (const group of (entry?.groups ?? []).toReversed()) {
      const [start, end] = [this.slots[group * 2] ?? -1, this.slots[group * 2 + 1] ?? -1];
      if (start < 0 || end < 0) continue;
      const size = end - start;
      let same = at + size <= points.length;
      for (let i = 0; same && i < size; i++) {
        const [x, y] = [points[start + i] ?? 0, points[at + i] ?? 0];
        same = x === y || (entry?.fold === true && fold(x) === fold(y));
      }
      return same ? at + size : -1;
    }
    return -1;
  }

  private holds(kind: number, at: number): boolean {
    const { points } = this;
    const end = points.length;
    switch (asserts[kind]) {
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
        return (before !== after) === (asserts[kind] === 'word');
      }
    }
  }
}
