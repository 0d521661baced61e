import { isRecord } from '../../contracts/is-record.ts';
import { factsOf, resolveCallee } from './call-function.ts';
import { KIND_FACTS, TASK_KINDS } from './kind-facts.ts';
import type { ExtensionTarget, TaskKind } from './model.ts';

export { KIND_FACTS, TASK_KINDS };

export const EXTENSION_TARGETS: readonly ExtensionTarget[] = [
  ...[...new Set(Object.values(KIND_FACTS).map(({ extension }) => extension))].toSorted(),
  'all',
];

/** Kind of a task by its key; undefined if it has none of them. */
export function taskKindOf(task: object): TaskKind | undefined {
  return TASK_KINDS.find((kind) => Object.hasOwn(task, kind));
}

/** Paths of the task lists inside a task: those of its kind, and those of the function that it calls. */
export function listPathsOf(task: Record<string, unknown>): readonly (readonly string[])[] {
  const kind = taskKindOf(task);
  if (kind === undefined) return [];
  if (kind !== 'call' || typeof task['call'] !== 'string' || !isRecord(task['with']))
    return KIND_FACTS[kind].lists;
  const callee = resolveCallee(task['call'], undefined);
  const lists = callee?.kind === 'builtin' ? factsOf(callee.name).lists : undefined;
  return (lists ?? []).map((path) => ['with', ...path]);
}
