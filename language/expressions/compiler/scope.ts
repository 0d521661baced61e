/** Names visible at a node, and how far up the chain their bindings are. */
import type { FunctionNode } from '../ast.ts';
import type { Code } from './code.ts';

/** A function of the program, compiled when first called. */
export class UserFunction {
  readonly node: FunctionNode;
  /** The scope of the definition; the body additionally sees the function and its parameters. */
  readonly scope: Scope;
  /** Whether one output is certain; while the body is compiled, an assumption. */
  isSingle = true;
  /** Set when a call inside the body relied on the assumption. */
  isAssumed = false;
  code: Code | null = null;

  constructor(node: FunctionNode, scope: Scope) {
    this.node = node;
    this.scope = scope;
  }
}

export type Entry =
  /** `isParam`: declared as `$name` in a function's parameters, and so a filter `name` too. */
  | { kind: 'variable'; name: string; isParam?: boolean }
  | { kind: 'closure'; name: string }
  | { kind: 'label'; name: string }
  | { kind: 'function'; name: string; arity: number; fn: UserFunction };

export class Scope {
  readonly up: Scope | null;
  readonly entry: Entry | null;
  /** Number of bindings in the chain at run time. */
  readonly depth: number;

  constructor(up: Scope | null, entry: Entry | null, depth = up?.depth ?? 0) {
    this.up = up;
    this.entry = entry;
    this.depth = depth + (entry !== null && entry.kind !== 'function' ? 1 : 0);
  }

  bind(entry: Entry): Scope {
    return new Scope(this, entry);
  }

  /** The scope that declares `$name` or the label, innermost first. */
  find(kind: 'variable' | 'label', name: string): Scope | null {
    if (this.entry?.kind === kind && this.entry.name === name) return this;
    return this.up?.find(kind, name) ?? null;
  }

  /** The scope that declares the filter `name/arity`: a function, a closure or a value parameter. */
  findFunction(name: string, arity: number): Scope | null {
    const { entry } = this;
    if (entry !== null && entry.name === name) {
      if (entry.kind === 'function' && entry.arity === arity) return this;
      if ((entry.kind === 'closure' || (entry.kind === 'variable' && entry.isParam === true)) && arity === 0)
        return this;
    }
    return this.up?.findFunction(name, arity) ?? null;
  }
}
