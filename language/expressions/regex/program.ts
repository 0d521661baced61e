/** Tree to instructions for the matcher. */
import { partsOf } from './classes.ts';
import { RegexError } from './error.ts';
import type { AssertKind, ParsedRegex, RegexNode, Test } from './ast.ts';

export const op = {
  char: 0,
  charFold: 1,
  set: 2,
  split: 3,
  jump: 4,
  save: 5,
  assert: 6,
  look: 7,
  atomic: 8,
  reference: 9,
  repeat: 10,
  emptyStart: 11,
  emptyCheck: 12,
  call: 13,
  ret: 14,
  keep: 15,
  accept: 16,
  match: 17,
} as const;

export const ASSERTS: readonly AssertKind[] = [
  'begin',
  'lineBegin',
  'end',
  'lineEnd',
  'semiEnd',
  'word',
  'notWord',
  'start',
];

export interface RegexProgram {
  /** Instructions of four numbers: operation and up to three operands. */
  code: Int32Array;
  sets: Test[];
  /** Steps that a test of each set takes besides those of any: 0 but for sets of many. */
  costs: Int32Array;
  references: { groups: number[]; fold: boolean }[];
  groupCount: number;
  names: Map<number, string>;
  /** Number of slots: two for each group, and one for each loop that may be empty. */
  slots: number;
  /** Whether a match can only begin at the start of the subject. */
  isAnchored: boolean;
  /** The character that every match begins with, or -1. */
  firstPoint: number;
}

const MAX_INSTRUCTIONS = 20_000;

class Emitter {
  readonly code: number[] = [];
  readonly sets: Test[] = [];
  readonly references: { groups: number[]; fold: boolean }[] = [];
  slots: number;
  private readonly called: ReadonlySet<number>;
  private readonly starts = new Map<number, number>();
  private readonly calls: { at: number; group: number }[] = [];

  constructor(groupCount: number, called: ReadonlySet<number>) {
    this.slots = (groupCount + 1) * 2;
    this.called = called;
  }

  get here(): number {
    return this.code.length >> 2;
  }

  emit(operation: number, a = 0, b = 0, c = 0): number {
    const at = this.here;
    if (at >= MAX_INSTRUCTIONS) throw new RegexError('too big pattern');
    this.code.push(operation, a, b, c);
    return at;
  }

  patch(at: number, operand: 1 | 2 | 3, value: number): void {
    this.code[at * 4 + operand] = value;
  }

  finish(): void {
    for (const { at, group } of this.calls) this.patch(at, 1, this.starts.get(group) ?? 0);
  }

  node(node: RegexNode): void {
    switch (node.k) {
      case 'empty':
        return;
      case 'char':
        this.emit(node.fold ? op.charFold : op.char, node.point);
        return;
      case 'set':
        this.emit(op.set, this.sets.push(node.test) - 1);
        return;
      case 'sequence':
        for (const item of node.items) this.node(item);
        return;
      case 'choice':
        return this.choice(node.items);
      case 'group':
        return this.group(node.index, node.body);
      case 'repeat':
        return this.repeat(node);
      case 'look': {
        const at = this.emit(op.look, 0, node.negative ? 1 : 0, node.ahead ? 1 : 0);
        this.node(node.body);
        this.emit(op.accept);
        this.patch(at, 1, this.here);
        return;
      }
      case 'atomic': {
        const at = this.emit(op.atomic);
        this.node(node.body);
        this.emit(op.accept);
        this.patch(at, 1, this.here);
        return;
      }
      case 'assert':
        this.emit(op.assert, ASSERTS.indexOf(node.kind));
        return;
      case 'reference':
        this.emit(op.reference, this.references.push({ groups: node.groups, fold: node.fold }) - 1);
        return;
      case 'call':
        this.calls.push({ at: this.emit(op.call), group: node.group });
        return;
      case 'keep':
        this.emit(op.keep);
    }
  }

  private choice(items: RegexNode[]): void {
    const jumps: number[] = [];
    items.forEach((item, i) => {
      if (i === items.length - 1) return this.node(item);
      const split = this.emit(op.split);
      this.patch(split, 1, this.here);
      this.node(item);
      jumps.push(this.emit(op.jump));
      return this.patch(split, 2, this.here);
    });
    for (const jump of jumps) this.patch(jump, 1, this.here);
  }

  /** A group that is called somewhere is laid out as a subroutine. */
  group(index: number, body: RegexNode): void {
    if (!this.called.has(index)) {
      this.emit(op.save, index * 2);
      this.node(body);
      this.emit(op.save, index * 2 + 1);
      return;
    }
    const call = this.emit(op.call);
    const jump = this.emit(op.jump);
    this.patch(call, 1, this.here);
    this.starts.set(index, this.here);
    if (index > 0) this.emit(op.save, index * 2);
    this.node(body);
    if (index > 0) this.emit(op.save, index * 2 + 1);
    this.emit(op.ret);
    this.patch(jump, 1, this.here);
  }

  private repeat({ body, min, max, mode }: Extract<RegexNode, { k: 'repeat' }>): void {
    if (max === 0) return;
    const test = simple(body);
    if (test) {
      const set = this.sets.push(test) - 1;
      const kind = mode === 'greedy' ? 0 : mode === 'lazy' ? 1 : 2;
      this.emit(op.repeat, set, min, max === Infinity ? -1 : max);
      this.emit(kind);
      return;
    }
    const atomic = mode === 'possessive' ? this.emit(op.atomic) : -1;
    for (let i = 0, before = -1; i < min && this.here !== before; i++) {
      // A body without instructions adds none, however often it is repeated.
      before = this.here;
      this.node(body);
    }
    const lazy = mode === 'lazy';
    if (max === Infinity) {
      const slot = this.slots++;
      const split = this.emit(op.split);
      this.patch(split, lazy ? 2 : 1, this.here);
      this.emit(op.emptyStart, slot);
      this.node(body);
      this.emit(op.emptyCheck, slot);
      this.emit(op.jump, split);
      this.patch(split, lazy ? 1 : 2, this.here);
    } else {
      const splits: number[] = [];
      for (let i = min; i < max; i++) {
        const split = this.emit(op.split);
        this.patch(split, lazy ? 2 : 1, this.here);
        splits.push(split);
        this.node(body);
      }
      for (const split of splits) this.patch(split, lazy ? 1 : 2, this.here);
    }
    if (atomic >= 0) {
      this.emit(op.accept);
      this.patch(atomic, 1, this.here);
    }
  }
}

/** The test of a node that always takes exactly one character. */
function simple(node: RegexNode): Test | null {
  if (node.k === 'set') return node.test;
  if (node.k === 'char' && !node.fold) {
    const { point } = node;
    return (candidate) => candidate === point;
  }
  return null;
}

function calledGroups(node: RegexNode, out: Set<number>): Set<number> {
  if (node.k === 'call') out.add(node.group);
  else if (node.k === 'sequence' || node.k === 'choice')
    for (const item of node.items) calledGroups(item, out);
  else if ('body' in node) calledGroups(node.body, out);
  return out;
}

function firstOf(node: RegexNode): RegexNode {
  if (node.k === 'sequence') {
    const first = node.items[0];
    return first ? firstOf(first) : node;
  }
  if (node.k === 'group' || node.k === 'atomic') return firstOf(node.body);
  if (node.k === 'repeat' && node.min > 0) return firstOf(node.body);
  return node;
}

export function compileRegex({ node, groupCount, names }: ParsedRegex): RegexProgram {
  const called = calledGroups(node, new Set());
  const emitter = new Emitter(groupCount, called);
  if (called.has(0)) emitter.group(0, node);
  else emitter.node(node);
  emitter.emit(op.match);
  emitter.finish();
  const first = firstOf(node);
  return {
    code: Int32Array.from(emitter.code),
    sets: emitter.sets,
    costs: Int32Array.from(emitter.sets, (test) => partsOf(test) - 1),
    references: emitter.references,
    groupCount,
    names,
    slots: emitter.slots,
    isAnchored: first.k === 'assert' && first.kind === 'begin',
    firstPoint: first.k === 'char' && !first.fold ? first.point : -1,
  };
}
