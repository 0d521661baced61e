/** Static analysis for validation: all compile problems of an expression, and what it reads. */
import type { Node, Pattern } from './ast.ts';
import { builtins, REFUSED } from './builtins/index.ts';
import { ExpressionError, locate } from './errors.ts';
import { parse } from './parser.ts';
import { suggest } from './suggest.ts';
import { parseTemplate, type TemplateMode } from './template.ts';

interface Problem {
  code: 'syntax' | 'undefined_variable' | 'undefined_function' | 'undefined_label' | 'refused' | 'limit';
  message: string;
  line: number;
  column: number;
  suggestion?: string;
}

export interface AnalyzeOptions {
  /** Names, without `$`, of the permitted variables. Default: any. */
  variables?: readonly string[];
  /** How the source is read: as jq (the default), or as a template. */
  mode?: 'jq' | TemplateMode;
}

export interface Analysis {
  problems: Problem[];
  /** Variables that the environment must provide, sorted, without `$`. */
  variables: string[];
  /** Paths that are read, such as `.a.b` and `$context.user.id`; sorted. `[]` stands for any element. */
  paths: string[];
  /** Builtins that are called, as `name/arity`; sorted. */
  functions: string[];
}

interface Names {
  variables: ReadonlySet<string>;
  functions: ReadonlySet<string>;
  labels: ReadonlySet<string>;
  /** Whether `.` is still the input of the program. */
  isRoot: boolean;
}

/** Maximum number of problems. More would not help, and each costs a search for a suggestion. */
const MAX_PROBLEMS = 20;

type NodeOf<Kind extends Node['t']> = Extract<Node, { t: Kind }>;

class Analyzer {
  readonly problems: Problem[] = [];
  readonly variables = new Set<string>();
  readonly paths = new Set<string>();
  readonly functions = new Set<string>();
  private readonly source: string;
  private readonly allowed: ReadonlySet<string> | null;

  constructor(source: string, allowed: readonly string[] | undefined) {
    this.source = source;
    this.allowed = allowed ? new Set(allowed) : null;
  }

  private report(code: Problem['code'], at: number, message: string, suggestion?: string): void {
    const problem: Problem = { code, message, ...locate(this.source, at) };
    this.problems.push(suggestion === undefined ? problem : { ...problem, suggestion });
  }

  /** The text of a path that starts at the input or at a variable of the environment. */
  private pathOf(node: Node, names: Names): string | null {
    switch (node.t) {
      case 'identity':
        return names.isRoot ? '.' : null;
      case 'variable':
        return names.variables.has(node.name) ? null : `$${node.name}`;
      case 'iterate': {
        const of = this.pathOf(node.of, names);
        return of === null ? null : `${of}[]`;
      }
      case 'index': {
        const of = this.pathOf(node.of, names);
        if (of === null || node.key.t !== 'literal') return of;
        const { value } = node.key;
        if (typeof value === 'number') return `${of}[${value}]`;
        if (typeof value !== 'string') return of;
        if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(value)) return of === '.' ? `.${value}` : `${of}.${value}`;
        return `${of}[${JSON.stringify(value)}]`;
      }
      case 'slice':
        return this.pathOf(node.of, names);
      case 'pipe': {
        const left = this.pathOf(node.left, names);
        const right = this.pathOf(node.right, { ...names, isRoot: true });
        if (left === null || right === null || !right.startsWith('.')) return null;
        return right === '.' ? left : left === '.' ? right : left + right.replace(/^\.(?=\[)/, '');
      }
      default:
        return null;
    }
  }

  visit(node: Node, names: Names): void {
    const path = this.pathOf(node, names);
    if (path !== null && path !== '.') this.paths.add(path);
    else if (node.t === 'identity' && names.isRoot) this.paths.add('.');
    switch (node.t) {
      case 'variable':
        return this.variable(node.name, node.at, names);
      case 'call':
        return this.call(node, names);
      case 'index':
      case 'iterate':
      case 'slice':
      case 'pipe':
        return this.step(node, names, path);
      case 'def':
      case 'label':
      case 'break':
      case 'bind':
      case 'reduce':
      case 'foreach':
        return this.binding(node, names);
      default:
        return this.parts(node, names);
    }
  }

  /** A node that lengthens a path. `path` is its whole path, null if it has none. */
  private step(
    node: NodeOf<'index' | 'iterate' | 'slice' | 'pipe'>,
    names: Names,
    path: string | null,
  ): void {
    switch (node.t) {
      case 'index':
        if (path === null || node.key.t !== 'literal') this.visit(node.key, names);
        return this.inside(node.of, names, path);
      case 'iterate':
        return this.inside(node.of, names, path);
      case 'slice':
        if (node.from) this.visit(node.from, names);
        if (node.to) this.visit(node.to, names);
        return this.inside(node.of, names, path);
      case 'pipe':
        if (path !== null) return this.inside(node.left, names, path);
        this.visit(node.left, names);
        return this.visit(node.right, {
          ...names,
          isRoot: names.isRoot && node.left.t === 'identity',
        });
    }
  }

  /** A node that binds names, or uses a label. */
  private binding(
    node: NodeOf<'def' | 'label' | 'break' | 'bind' | 'reduce' | 'foreach'>,
    names: Names,
  ): void {
    switch (node.t) {
      case 'def':
        return this.definition(node, names);
      case 'label':
        return this.visit(node.body, { ...names, labels: new Set([...names.labels, node.name]) });
      case 'break':
        if (!names.labels.has(node.name))
          this.report('undefined_label', node.at, `$*label-${node.name} is not defined`);
        return undefined;
      case 'bind':
        this.visit(node.source, names);
        return this.visit(node.body, this.bind(node.patterns, names));
      case 'reduce':
      case 'foreach': {
        this.visit(node.source, names);
        this.visit(node.init, names);
        const inner = { ...this.bind(node.patterns, names), isRoot: false };
        this.visit(node.update, inner);
        if (node.t === 'foreach' && node.extract) this.visit(node.extract, inner);
        return undefined;
      }
    }
  }

  private definition({ fn, body }: NodeOf<'def'>, names: Names): void {
    const functions = new Set([...names.functions, `${fn.name}/${fn.params.length}`]);
    const inner = new Set([...functions, ...fn.params.map(({ name }) => `${name}/0`)]);
    const variables = new Set([
      ...names.variables,
      ...fn.params.filter(({ isValue }) => isValue).map(({ name }) => name),
    ]);
    this.visit(fn.body, { ...names, functions: inner, variables, isRoot: false });
    this.visit(body, { ...names, functions });
  }

  /** The parts of a node that neither lengthens a path nor binds names. */
  private parts(node: Node, names: Names): void {
    switch (node.t) {
      case 'try':
        this.visit(node.body, names);
        if (node.handler) this.visit(node.handler, { ...names, isRoot: false });
        return undefined;
      case 'update':
        this.visit(node.left, names);
        return this.visit(node.right, { ...names, isRoot: names.isRoot && node.op !== '|=' });
      case 'string':
        for (const part of node.parts) if (typeof part !== 'string') this.visit(part, names);
        return undefined;
      case 'object':
        for (const { key, value } of node.entries) {
          if (key.t !== 'literal') this.visit(key, names);
          this.visit(value, names);
        }
        return undefined;
      case 'if':
        this.visit(node.condition, names);
        this.visit(node.consequent, names);
        if (node.otherwise) this.visit(node.otherwise, names);
        return undefined;
      case 'array':
        if (node.body) this.visit(node.body, names);
        return undefined;
      case 'negate':
        return this.visit(node.of, names);
      case 'comma':
      case 'binary':
      case 'and':
      case 'or':
      case 'alternative':
        this.visit(node.left, names);
        return this.visit(node.right, names);
      default:
        return undefined;
    }
  }

  /** Analyses the inside of a path: its variables are collected, its shorter paths are not. */
  private inside(node: Node, names: Names, path: string | null): void {
    if (path === null) return this.visit(node, names);
    const kept = new Set(this.paths);
    this.visit(node, names);
    for (const found of this.paths) if (!kept.has(found) && path.startsWith(found)) this.paths.delete(found);
    return undefined;
  }

  private bind(patterns: Pattern[], names: Names): Names {
    const variables = new Set(names.variables);
    const walk = (pattern: Pattern): void => {
      if (pattern.t === 'var') variables.add(pattern.name);
      else if (pattern.t === 'array') pattern.elements.forEach(walk);
      else {
        for (const { key, variable, value } of pattern.entries) {
          if (variable !== null) variables.add(variable);
          if (key.t !== 'literal') this.visit(key, { ...names, isRoot: false });
          if (value) walk(value);
        }
      }
    };
    patterns.forEach(walk);
    return { ...names, variables };
  }

  private variable(name: string, at: number, names: Names): void {
    if (names.variables.has(name)) return;
    if (name === 'ENV')
      return this.report('refused', at, '$ENV is not available: an expression has no environment');
    this.variables.add(name);
    if (this.allowed !== null && !this.allowed.has(name) && this.problems.length < MAX_PROBLEMS) {
      this.report(
        'undefined_variable',
        at,
        `$${name} is not defined`,
        suggest(name, [...this.allowed, ...names.variables], '$'),
      );
    }
    return undefined;
  }

  private call(node: NodeOf<'call'>, names: Names): void {
    const key = `${node.name}/${node.args.length}`;
    // The input of a function's argument is in general not the program's input.
    const known = names.functions.has(key);
    const keepsInput = !known && !TAKES_FILTER.has(node.name);
    for (const arg of node.args) this.visit(arg, { ...names, isRoot: names.isRoot && keepsInput });
    if (known) return;
    if (builtins.has(key)) {
      this.functions.add(key);
      return;
    }
    if (this.problems.length >= MAX_PROBLEMS) return;
    const reason = REFUSED.get(node.name);
    if (reason !== undefined) return this.report('refused', node.at, `${key} is not available: ${reason}`);
    const all = [...names.functions, ...builtins.keys()];
    const arities = all.filter((candidate) => candidate.startsWith(`${node.name}/`));
    if (arities.length > 0)
      return this.report(
        'undefined_function',
        node.at,
        `${key} is not defined, but ${arities.join(' and ')} ${arities.length > 1 ? 'are' : 'is'}`,
        arities[0],
      );
    return this.report(
      'undefined_function',
      node.at,
      `${key} is not defined`,
      suggest(node.name, new Set(all.map((candidate) => candidate.slice(0, candidate.lastIndexOf('/'))))),
    );
  }
}

/** Builtins that run their argument with another input than their own. */
const TAKES_FILTER = new Set([
  'map',
  'map_values',
  'with_entries',
  'walk',
  'sort_by',
  'group_by',
  'unique_by',
  'min_by',
  'max_by',
  'until',
  'while',
  'recurse',
  'sub',
  'gsub',
  'INDEX',
  'paths',
  'all',
  'any',
]);

/** Analyses an expression without running it. Never throws for an invalid source. */
export function analyze(source: string, options: AnalyzeOptions = {}): Analysis {
  const analyzer = new Analyzer(source, options.variables);
  try {
    const mode = options.mode ?? 'jq';
    const node = mode === 'jq' ? parse(source) : parseTemplate(source, mode);
    analyzer.visit(node, { variables: new Set(), functions: new Set(), labels: new Set(), isRoot: true });
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const { message, line, column, code } = error;
    const known: Problem['code'] = code === 'limit' || code === 'refused' ? code : 'syntax';
    analyzer.problems.push({ code: known, message, line, column });
  }
  const sorted = (set: Set<string>): string[] => [...set].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return {
    problems: analyzer.problems,
    variables: sorted(analyzer.variables),
    paths: sorted(analyzer.paths),
    functions: sorted(analyzer.functions),
  };
}
