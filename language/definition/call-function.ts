/** The functions that the platform brings, and which function a `call` names. */
import type { CallFunction } from './model.ts';
import type { Unsupported } from './support.ts';

/** Facts about a function that others need besides its check and its runner. */
interface FunctionFacts {
  /**
   * `dsl`: a function of the specification, whose name `use.functions` may not take. `default`: one of ours,
   * in the catalog of this name.
   */
  catalog: 'dsl' | 'default';
  /** The type of its tasks in their events. */
  taskType: 'http' | 'agent' | 'human' | 'map' | 'call';
  /** What is reported while the function does not run yet. Messages never recommend such a function. */
  notYet: Unsupported | null;
  /** Paths of task lists inside `with`. */
  lists?: readonly (readonly string[])[];
}

export const FUNCTION_FACTS = {
  http: { catalog: 'dsl', taskType: 'http', notYet: null },
  agent: {
    catalog: 'default',
    taskType: 'agent',
    notYet: null,
  },
  human: {
    catalog: 'default',
    taskType: 'human',
    notYet: null,
  },
  map: {
    catalog: 'default',
    taskType: 'map',
    notYet: null,
    lists: [['do']],
  },
  openapi: { catalog: 'dsl', taskType: 'call', notYet: null },
  grpc: { catalog: 'dsl', taskType: 'call', notYet: null },
  asyncapi: {
    catalog: 'dsl',
    taskType: 'call',
    notYet: null,
    lists: [['subscription', 'foreach', 'do']],
  },
  a2a: { catalog: 'dsl', taskType: 'call', notYet: null },
  mcp: { catalog: 'dsl', taskType: 'call', notYet: null },
} as const satisfies Readonly<Record<CallFunction, FunctionFacts>>;

/** The functions that run. */
export type RunnableFunction = {
  [Name in CallFunction]: (typeof FUNCTION_FACTS)[Name]['notYet'] extends null ? Name : never;
}[CallFunction];

// Safe: the record has no other keys, which the type of `Object.keys` does not express.
const FUNCTIONS = Object.keys(FUNCTION_FACTS) as readonly CallFunction[];

export const RUNNABLE_FUNCTIONS: readonly RunnableFunction[] = FUNCTIONS.filter(isRunnable);

/** Functions of the DSL, which `use.functions` cannot redefine. */
export const RESERVED_FUNCTIONS: readonly string[] = functionsOf('dsl');

/** Ours, which `use.functions` can redefine; `agent:1.0.0@default` still means ours. */
export const CATALOG_FUNCTIONS: readonly CallFunction[] = functionsOf('default');

export const CATALOG_VERSION = '1.0.0';

/** How many items `call: map` may have under way at the same time. */
export const MAX_MAP_CONCURRENCY = 1000;

export function isRunnable(name: CallFunction): name is RunnableFunction {
  return FUNCTION_FACTS[name].notYet === null;
}

function functionsOf(catalog: FunctionFacts['catalog']): CallFunction[] {
  return FUNCTIONS.filter((name) => FUNCTION_FACTS[name].catalog === catalog);
}

/** Facts of a function, with the parts that most functions lack. */
export function factsOf(name: CallFunction): FunctionFacts {
  return FUNCTION_FACTS[name];
}

export function isCatalogFunction(name: string): boolean {
  return CATALOG_FUNCTIONS.some((known) => known === name);
}

/** The full name of one of our functions. */
export function catalogName(name: string): string {
  return `${name}:${CATALOG_VERSION}@default`;
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
 * Target of a `call`. A function of `use.functions` overrides a built-in of the same name, and
 * `agent:1.0.0@default` equals `agent` (docs/interface.md#functions-in-a-definition). Undefined if the
 * function is unknown.
 */
export type Callee = { kind: 'function'; name: string } | { kind: 'builtin'; name: CallFunction };

export function resolveCallee(
  call: string,
  functions: Record<string, unknown> | readonly string[] | undefined,
): Callee | undefined {
  const defined = Array.isArray(functions)
    ? functions.includes(call)
    : functions !== undefined && Object.hasOwn(functions, call);
  if (defined) return { kind: 'function', name: call };
  const { name, version, catalog } = parseFunctionName(call);
  const builtin = FUNCTIONS.find((known) => known === name);
  if (builtin === undefined) return undefined;
  const isShort = catalog === null;
  const isOurs = catalog === 'default' && FUNCTION_FACTS[builtin].catalog === 'default';
  return isShort || (isOurs && version === CATALOG_VERSION) ? { kind: 'builtin', name: builtin } : undefined;
}
