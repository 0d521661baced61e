/** What can stand at the cursor: names of the language, and names that the registry knows. */
import { ROLES } from '../../../../contracts/roles.ts';
import type { CallArguments, CallFunction } from '../../../../language/definition/model-calls.ts';
import { TASK_KINDS } from '../../../../language/definition/kind-facts.ts';
import type { Cursor } from './cursor.ts';
import { words } from './words.ts';

export interface Registry {
  agents: readonly { name: string; versions: readonly string[] }[];
  secrets: readonly string[];
  groups: readonly string[];
  users: readonly string[];
}

export interface Completion {
  label: string;
  detail: string;
  isName: boolean;
}

const ARGUMENTS: { readonly [Name in CallFunction]: readonly (keyof CallArguments[Name])[] } = {
  agent: ['agent', 'version', 'input', 'skill', 'timeout', 'stream'],
  human: [
    'title',
    'description',
    'subject',
    'form',
    'decisions',
    'assignee',
    'candidates',
    'priority',
    'due',
    'expires',
    'on_expiry',
    'remind',
    'escalate',
    'quorum',
    'require_comment',
    'delegate',
    'context',
  ],
  map: ['in', 'as', 'at', 'do', 'concurrency', 'on_error'],
  http: ['method', 'endpoint', 'headers', 'body', 'query', 'output', 'redirect'],
  openapi: ['document', 'operationId', 'parameters', 'authentication', 'output', 'redirect'],
  a2a: ['method', 'agentCard', 'server', 'parameters'],
  grpc: ['proto', 'service', 'method', 'arguments'],
  asyncapi: ['document', 'operation', 'message', 'subscription', 'server', 'protocol'],
  mcp: ['method', 'parameters', 'transport', 'timeout'],
};
/** Functions that runs can call. */
const FUNCTIONS = Object.keys(ARGUMENTS);
const OF_TASK = ['if', 'input', 'output', 'export', 'timeout', 'then', 'metadata'];
const OF_DEFINITION = ['document', 'input', 'use', 'do', 'output', 'timeout'];
const OF_USE = ['authentications', 'errors', 'functions', 'retries', 'secrets', 'timeouts'];
const OF_DOCUMENT = ['dsl', 'namespace', 'name', 'version', 'title', 'summary', 'tags'];
const OF_DATA: Readonly<Record<string, readonly string[]>> = {
  input: ['schema', 'from'],
  output: ['schema', 'as'],
  export: ['schema', 'as'],
};
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const FLOW = ['continue', 'exit', 'end'];
const LISTS = new Set(['do', 'try', 'branches']);

/** @param definition the last one that could be read */
export function completionsAt(cursor: Cursor, definition: unknown, registry: Registry): Completion[] {
  const names = cursor.at === 'value' ? [] : namesAt(cursor, definition);
  const values = cursor.at === 'name' ? [] : valuesAt(cursor, definition, registry);
  return [
    ...values.map(([label, detail = '']) => ({ label, detail, isName: false })),
    ...names.map((label) => ({ label, detail: '', isName: true })),
  ];
}

/** Names of secrets after `$secrets.`, which may stand in any text. */
export function secretsAt(
  before: string,
  definition: unknown,
  registry: Registry,
): { typed: string; names: string[] } | null {
  const found = /\$secrets\.([A-Za-z_]\w*)?$/.exec(before);
  if (found === null) return null;
  const declared = listOf(valueAt(definition, ['use', 'secrets']));
  return { typed: found[1] ?? '', names: [...new Set([...declared, ...registry.secrets])] };
}

function namesAt({ path, around }: Cursor, definition: unknown): readonly string[] {
  const last = path.at(-1);
  const present = around.at(-1) ?? new Map<string, string>();
  const without = (names: readonly string[]) => names.filter((name) => !present.has(name));
  if (path.length === 0) return without(OF_DEFINITION);
  if (path.length === 1 && last === 'use') return without(OF_USE);
  if (path.length === 1 && last === 'document') return without(OF_DOCUMENT);
  if (isTask(path)) return namesOfTask(present);
  if (last === 'with' && isTask(path.slice(0, -1))) {
    const called = around.at(-2)?.get('call') || textAt(definition, [...path.slice(0, -1), 'call']);
    return without(argumentsOf(called));
  }
  if (last === 'candidates') return without(['users', 'roles', 'groups']);
  return without(OF_DATA[last ?? ''] ?? []);
}

function namesOfTask(present: ReadonlyMap<string, string>): string[] {
  const hasKind = TASK_KINDS.some((kind) => present.has(kind));
  return [
    ...(hasKind ? [] : TASK_KINDS),
    ...(present.has('call') ? ['with'] : []),
    ...OF_TASK.filter((name) => !present.has(name)),
  ];
}

function argumentsOf(called: string): readonly string[] {
  return Object.hasOwn(ARGUMENTS, called) ? ARGUMENTS[called as CallFunction] : [];
}

type Value = readonly [label: string, detail?: string];

function valuesAt({ path, around }: Cursor, definition: unknown, registry: Registry): Value[] {
  const last = path.at(-1);
  const parent = path.at(-2);
  if (last === 'call' && isTask(path.slice(0, -1)))
    return [
      ...FUNCTIONS.map((name): Value => [name, words.completion.function]),
      ...namesIn(definition, 'functions').map((name): Value => [name, 'use.functions']),
    ];
  if (last === 'agent' && parent === 'with')
    return registry.agents.map(({ name, versions: [newest] }): Value => [name, newest ?? '']);
  if (last === 'version' && parent === 'with') {
    const name = around.at(-1)?.get('agent') || textAt(definition, [...path.slice(0, -1), 'agent']);
    return (registry.agents.find((agent) => agent.name === name)?.versions ?? []).map((version) => [version]);
  }
  if (parent === 'groups') return registry.groups.map((name) => [name, words.completion.group]);
  if (parent === 'users' || last === 'assignee')
    return registry.users.map((name) => [name, words.completion.user]);
  if (parent === 'roles') return ROLES.map((name) => [name]);
  if (parent === 'secrets') return registry.secrets.map((name) => [name, words.completion.secret]);
  if (last === 'method' && parent === 'with') return METHODS.map((name) => [name]);
  if (parent === 'context' && path.at(-3) === 'with')
    return [...new Set(allTasks(definition))]
      .filter((name) => name !== path.at(-4))
      .map((name): Value => [name, words.completion.task]);
  if (last === 'then') return [...FLOW, ...siblingTasks(path, definition)].map((name) => [name]);
  return [];
}

/** Whether the path is that of a task: `do`, position, name. */
function isTask(path: readonly string[]): boolean {
  return LISTS.has(path.at(-3) ?? '') && /^\d+$/.test(path.at(-2) ?? '');
}

/** Names of the tasks in the list of the task that the path is in. */
function siblingTasks(path: readonly string[], definition: unknown): string[] {
  const at = path.findLastIndex((_, index) => isTask(path.slice(0, index + 1)));
  if (at < 2) return [];
  const list = valueAt(definition, path.slice(0, at - 1));
  return Array.isArray(list)
    ? list.flatMap((item: unknown) => (isObject(item) ? Object.keys(item) : []))
    : [];
}

/** Names of all tasks, at any depth. */
function allTasks(value: unknown, key = ''): string[] {
  const inner: unknown[] = Array.isArray(value) ? value : [];
  const names = LISTS.has(key) ? inner.flatMap((item) => (isObject(item) ? Object.keys(item) : [])) : [];
  const below = isObject(value) ? Object.entries(value) : inner.map((item) => ['', item] as const);
  return [...names, ...below.flatMap(([name, item]) => allTasks(item, name))];
}

function namesIn(definition: unknown, section: string): string[] {
  const names = valueAt(definition, ['use', section]);
  return isObject(names) ? Object.keys(names) : [];
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const key of path) {
    if (Array.isArray(at)) at = at[Number(key)];
    else if (isObject(at) && Object.hasOwn(at, key)) at = at[key];
    else return undefined;
  }
  return at;
}

function textAt(value: unknown, path: readonly string[]): string {
  const found = valueAt(value, path);
  return typeof found === 'string' ? found : '';
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
