/** Finds the tasks of a definition that ask people, and whom they name. */
import { isRecord } from '../../contracts/is-record.ts';
import { resolveCallee } from './call-function.ts';
import { at, own } from './problems.ts';
import { listPathsOf } from './task-kind.ts';

export interface AskingTask {
  /** JSON pointer of the task. */
  pointer: string;
  /** Its `with`. */
  given: unknown;
}

/** A user, group or team that a human task names literally, without an expression. */
export interface NamedPeople {
  /** JSON pointer of the name. */
  pointer: string;
  kind: 'user' | 'group' | 'team';
  name: string;
  /** They may not decide; all others are asked. */
  excluded: boolean;
}

/** The tasks in the order of the definition, those of `use.functions` last. */
export function humanTasks(definition: unknown): AskingTask[] {
  const given = own(own(definition, 'use'), 'functions');
  const functions = isRecord(given) ? given : {};
  const found: AskingTask[] = [];
  const look = (task: unknown, pointer: string): void => {
    if (!isRecord(task)) return;
    if (asksPeople(task, functions)) found.push({ pointer, given: task['with'] });
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

function asksPeople({ call }: Record<string, unknown>, functions: Record<string, unknown>): boolean {
  if (typeof call !== 'string') return false;
  const callee = resolveCallee(call, functions);
  return callee?.kind === 'builtin' && callee.name === 'human';
}

export function namedPeople(definition: unknown): NamedPeople[] {
  return humanTasks(definition).flatMap(({ pointer, given }) => {
    const place = at(pointer, 'with');
    const steps = own(given, 'escalate');
    return [
      ...literals(own(given, 'assignee'), at(place, 'assignee'), 'user'),
      ...peopleIn(own(given, 'candidates'), at(place, 'candidates')),
      ...(Array.isArray(steps) ? steps : []).flatMap((step: unknown, index) =>
        peopleIn(own(step, 'to'), at(place, 'escalate', index, 'to')),
      ),
      ...peopleIn(own(own(given, 'quorum'), 'exclude'), at(place, 'quorum', 'exclude'), true),
    ];
  });
}

function peopleIn(people: unknown, pointer: string, excluded = false): NamedPeople[] {
  return [
    ...literals(own(people, 'users'), at(pointer, 'users'), 'user', excluded),
    ...literals(own(people, 'groups'), at(pointer, 'groups'), 'group', excluded),
    ...literals(own(people, 'teams'), at(pointer, 'teams'), 'team', excluded),
  ];
}

/** @param given a name or a list of names */
function literals(
  given: unknown,
  pointer: string,
  kind: NamedPeople['kind'],
  excluded = false,
): NamedPeople[] {
  const names: [unknown, string][] = Array.isArray(given)
    ? given.map((name: unknown, index) => [name, at(pointer, index)])
    : [[given, pointer]];
  return names.flatMap(([name, place]) =>
    typeof name === 'string' && !name.includes('${') ? [{ pointer: place, kind, name, excluded }] : [],
  );
}
