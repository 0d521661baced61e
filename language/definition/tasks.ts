/**
 * Walks task lists: determines each task's kind by its key, checks that kind's shape, then what shapes cannot
 * express.
 */
import { TaskCounter } from './bounds.ts';
import { resolveCallee } from './call-function.ts';
import type { Checker, CheckTasks } from './checker.ts';
import { taskBase } from './common-shapes.ts';
import { checkExport, checkInput, checkOutput } from './data-flow.ts';
import { checkFlow, DIRECTIVES, type ListedTask } from './flow.ts';
import { callKind, callShape } from './kinds/call.ts';
import { doKind } from './kinds/do.ts';
import { emitKind } from './kinds/emit.ts';
import { forKind } from './kinds/for.ts';
import { forkKind } from './kinds/fork.ts';
import type { Kind } from './kinds/kind.ts';
import { listenKind } from './kinds/listen.ts';
import { raiseKind } from './kinds/raise.ts';
import { runKind } from './kinds/run.ts';
import { setKind } from './kinds/set.ts';
import { switchKind } from './kinds/switch.ts';
import { tryKind } from './kinds/try.ts';
import { waitKind } from './kinds/wait.ts';
import type { TaskKind } from './model.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { at, own, quote } from './problems.ts';
import { readsSecrets } from './reads-secrets.ts';
import type { Place } from './scope.ts';
import { checkTimeout } from './reusable.ts';
import { reportShape } from './shape.ts';
import { closest } from '../../contracts/suggest.ts';
import { TASK_KINDS, taskKindOf } from './task-kind.ts';

export const KINDS: Record<Exclude<TaskKind, 'call'>, Kind> = {
  do: doKind,
  emit: emitKind,
  for: forKind,
  fork: forkKind,
  listen: listenKind,
  raise: raiseKind,
  run: runKind,
  set: setKind,
  switch: switchKind,
  try: tryKind,
  wait: waitKind,
};

/** Creates the check of task lists, with its own counter for the limit. */
export function taskChecks(): {
  checkTasks: CheckTasks;
  checkTask: (checker: Checker, task: unknown, pointer: string, locals: readonly string[]) => void;
} {
  const counter = new TaskCounter();

  const checkTasks: CheckTasks = (checker, list, pointer, locals, options) => {
    if (!Array.isArray(list)) return;
    const listed: ListedTask[] = [];
    const names = new Set<string>();
    for (const [index, item] of list.entries()) {
      if (checker.problems.full) return;
      const place = at(pointer, index);
      const entry = singleEntry(item, place, checker);
      if (entry === undefined) continue;
      const [name, task] = entry;
      const taskPlace = at(place, name);
      if (names.has(name))
        checker.problems.error(
          taskPlace,
          'duplicate_name',
          `there are two tasks ${quote(name)} in this list`,
        );
      names.add(name);
      if (DIRECTIVES.includes(name))
        checker.problems.warning(
          taskPlace,
          'reserved_name',
          `"then: ${name}" is a directive and never goes to this task: choose another name`,
        );
      if (!counter.next(taskPlace, checker.problems)) return;
      checkTask(checker, task, taskPlace, locals);
      listed.push({ name, task: isRecord(task) ? task : {}, pointer: taskPlace });
    }
    checkFlow(listed, checker, options?.parallel ? 'branches' : 'list');
  };

  return { checkTasks, checkTask };
}

function singleEntry(item: unknown, pointer: string, checker: Checker): [string, unknown] | undefined {
  if (!isRecord(item)) {
    checker.problems.error(pointer, 'wrong_type', 'an item of a task list is an object {"<name>": {<task>}}');
    return undefined;
  }
  const entries = Object.entries(item);
  const entry = entries[0];
  if (entry !== undefined && entries.length === 1) return entry;
  const kind = taskKindOf(item);
  const message =
    kind === undefined
      ? 'an item of a task list has exactly one property, the name of its task; ' +
        `this one has ${entries.length}`
      : `the task has no name: write {"<name>": {${quote(kind)}: …}}`;
  checker.problems.error(pointer, 'task_item', message);
  return undefined;
}

function checkTask(checker: Checker, task: unknown, pointer: string, locals: readonly string[]): void {
  const { problems } = checker;
  const kind = isRecord(task) ? taskKindOf(task) : undefined;
  if (!isRecord(task) || kind === undefined) {
    reportNoKind(task, pointer, checker);
    return;
  }
  const shape = kind === 'call' ? callShape(task, checker.use.functions) : KINDS[kind].schema;
  reportShape(shape, task, pointer, problems, `a ${kind} task`);
  checker.expression(task['if'], at(pointer, 'if'), { site: 'if', locals, secrets: 'refuse' });
  const hidden = checkTaskInput(task, pointer, locals, checker);
  checkTimeout(
    task['timeout'],
    at(pointer, 'timeout'),
    { site: 'definition', locals, secrets: 'refuse' },
    checker,
  );
  (kind === 'call' ? callKind : KINDS[kind]).check(task, pointer, locals, checker);
  checkOutput(
    task['output'],
    at(pointer, 'output'),
    { site: 'output', locals, secrets: 'refuse', hidden },
    checker,
  );
  checkExport(task['export'], at(pointer, 'export'), locals, checker, hidden);
}

/** Functions whose activity evaluates `input.from`, so that it may read secrets. */
const WITH_SECRET_INPUT = ['http', 'openapi', 'a2a', 'grpc', 'mcp', 'asyncapi'];

/** @returns the variables that hold a secret in `output` and `export` */
function checkTaskInput(
  task: Record<string, unknown>,
  pointer: string,
  locals: readonly string[],
  checker: Checker,
): string[] {
  const callee =
    typeof task['call'] === 'string' ? resolveCallee(task['call'], checker.use.functions) : undefined;
  const allows = callee?.kind === 'builtin' && WITH_SECRET_INPUT.includes(callee.name);
  const place: Place = { site: 'input', locals, secrets: allows ? 'allow' : 'refuse' };
  checkInput(task['input'], at(pointer, 'input'), place, checker);
  const isSecret = allows && readsSecrets(own(task['input'], 'from'));
  if (isSecret) refuseUriTemplates(task['with'], at(pointer, 'with'), checker);
  return isSecret ? ['input'] : [];
}

/** `{name}` is filled from the input before the call, where the secret is not known. */
function refuseUriTemplates(value: unknown, pointer: string, checker: Checker): void {
  for (const [key, item] of isRecord(value) ? Object.entries(value) : []) {
    const place = at(pointer, key);
    if (isRecord(item)) refuseUriTemplates(item, place, checker);
    else if (
      ['endpoint', 'uri', 'server', 'authority'].includes(key) &&
      typeof item === 'string' &&
      /(?<!\$)\{/.test(item)
    )
      checker.problems.error(
        place,
        'secret_exposed',
        'input.from reads $secrets, so the address cannot take {name} from the input: write ${ .name }',
      );
  }
}

function reportNoKind(task: unknown, pointer: string, { problems }: Checker): void {
  const owner = pointer.split('/').at(-1) ?? '';
  if (TASK_KINDS.some((kind) => kind === owner)) {
    problems.error(pointer, 'task_item', `the task has no name: write {"<name>": {${quote(owner)}: …}}`);
    return;
  }
  if (!isRecord(task)) {
    problems.error(pointer, 'wrong_type', 'a task is an object');
    return;
  }
  for (const key of Object.keys(task)) {
    const suggestion = Object.hasOwn(taskBase, key) ? undefined : closest(key, TASK_KINDS);
    if (suggestion === undefined) continue;
    problems.error(
      at(pointer, key),
      'unknown_task',
      `${quote(key)} is not a kind of task, did you mean "${suggestion}"?`,
    );
    return;
  }
  problems.error(
    pointer,
    'unknown_task',
    `a task has one of these properties: ${TASK_KINDS.toSorted().join(', ')}`,
  );
}
