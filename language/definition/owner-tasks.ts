/** Finds human tasks that the run's owner alone may decide, because they name nobody else. */
import { isRecord } from '../../contracts/is-record.ts';
import { resolveCallee } from './call-function.ts';
import { at, own } from './problems.ts';
import { listPathsOf } from './task-kind.ts';

/** Keys of `with` that name people; those of `escalate` come later. */
const PEOPLE = ['assignee', 'candidates', 'escalate'];

/** JSON pointers of the tasks, in the order of the definition. */
export function ownerTasks(definition: unknown): string[] {
  const given = own(own(definition, 'use'), 'functions');
  const functions = isRecord(given) ? given : {};
  const found: string[] = [];
  const look = (task: unknown, pointer: string): void => {
    if (!isRecord(task)) return;
    if (isForOwner(task, functions)) found.push(pointer);
    for (const path of listPathsOf(task)) lookInto(path.reduce<unknown>(own, task), at(pointer, ...path));
  };
  const lookInto = (list: unknown, pointer: string): void => {
    for (const [index, item] of Array.isArray(list) ? list.entries() : [])
      for (const [name, task] of isRecord(item) ? Object.entries(item) : [])
        look(task, at(pointer, index, name));
  };
  lookInto(own(definition, 'do'), '/do');
  for (const [name, task] of Object.entries(functions)) look(task, at('/use/functions', name));
  return found;
}

function isForOwner(task: Record<string, unknown>, functions: Record<string, unknown>): boolean {
  const { call } = task;
  if (typeof call !== 'string') return false;
  const callee = resolveCallee(call, functions);
  if (callee?.kind !== 'builtin' || callee.name !== 'human') return false;
  return PEOPLE.every((key) => own(task['with'], key) === undefined);
}
