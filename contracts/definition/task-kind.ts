import type { Task, TaskItem, TaskKind } from './model.ts';

/** `for` before `do`: a for task has both keys. */
export const TASK_KINDS: readonly TaskKind[] = ['for', 'try', 'listen', 'call', 'do', 'emit', 'fork', 'raise', 'run', 'set', 'switch', 'wait'];

/** The kind of a task, by its key; undefined if it has none of them. */
export function taskKindOf(task: object): TaskKind | undefined {
  return TASK_KINDS.find((kind) => Object.hasOwn(task, kind));
}

/** The kind of a task of a valid definition. Throws if it has none. */
export function taskKind(task: Task): TaskKind {
  const kind = taskKindOf(task);
  if (kind === undefined) throw new Error('a task without a kind');
  return kind;
}

/** Name and task of an item of a task list of a valid definition. */
export function taskEntry(item: TaskItem): [name: string, task: Task] {
  const entry = Object.entries(item)[0];
  if (entry === undefined) throw new Error('a task item without a task');
  return entry;
}

/** `name:version@catalog` (dsl.md, Catalogs); version and catalog are null in the short form. */
export interface FunctionName {
  name: string;
  version: string | null;
  catalog: string | null;
}

export function parseFunctionName(call: string): FunctionName {
  const match = /^([^:@/]+)(?::([^@]+))?@([^@]+)$/.exec(call);
  if (match === null) return { name: call, version: null, catalog: null };
  return { name: match[1] ?? call, version: match[2] ?? null, catalog: match[3] ?? null };
}

/**
 * What a `call` runs: a function of `use.functions` wins over a built-in of the same name;
 * `agent:1.0.0@default` and `agent` are the same (interface-decisions §5). Undefined: nothing known.
 */
export type Callee =
  | { kind: 'function'; name: string }
  | { kind: 'builtin'; name: 'http' | 'agent' | 'human' | 'openapi' | 'grpc' | 'asyncapi' | 'a2a' | 'mcp' };

const BUILTINS = ['http', 'agent', 'human', 'openapi', 'grpc', 'asyncapi', 'a2a', 'mcp'] as const;

export function resolveCallee(call: string, functions: Record<string, unknown> | readonly string[] | undefined): Callee | undefined {
  const defined = Array.isArray(functions) ? functions.includes(call) : functions !== undefined && Object.hasOwn(functions, call);
  if (defined) return { kind: 'function', name: call };
  const { name, version, catalog } = parseFunctionName(call);
  const builtin = BUILTINS.find((known) => known === name);
  if (builtin === undefined) return undefined;
  if (catalog === null) return { kind: 'builtin', name: builtin };
  const ours = builtin === 'agent' || builtin === 'human';
  return ours && catalog === 'default' && version === '1.0.0' ? { kind: 'builtin', name: builtin } : undefined;
}
