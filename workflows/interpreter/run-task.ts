/** Runs one task from raw input to exported context: dsl.md "Data Flow", steps 3 to 9. */
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import { durationToMs } from '../../language/definition/duration.ts';
import type {
  FlowDirective,
  Task as TaskDefinition,
  TaskBase,
  Timeout,
} from '../../language/definition/model.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { timeoutText } from '../../contracts/timeout-text.ts';
import { isTrue, resolve, transform, validate, type At, type Variables } from './data-flow.ts';
import { throwIfCancelled } from './cancellation.ts';
import { mustYield } from './effort.ts';
import { RUNTIME, type Env, type Execution, type Outcome, type Task } from './execution.ts';
import { readsSecrets } from '../../language/definition/reads-secrets.ts';
import { extensionsOf } from './extensions.ts';
import { DslFault, fault } from './fault.ts';
import { loggedFault } from './logged-fault.ts';
import type { Frame } from './state.ts';
import { preview } from './preview.ts';
import { bounded, boundedRun } from './size.ts';
import { taskType } from './task-type.ts';

export interface TaskResult {
  output: unknown;
  then: FlowDirective;
}

export async function runTask(
  execution: Execution,
  name: string,
  ref: string,
  definition: TaskDefinition,
  frame: Frame,
  env: Env,
): Promise<TaskResult> {
  const gate = execution.gate();
  if (gate) await gate;
  while (mustYield()) await execution.yieldTask();
  execution.checkEventLimit(ref);
  const descriptor = (more: Record<string, unknown> = {}): Variables =>
    taskVariables(execution, name, ref, definition, frame, env, more);
  if (isSkipped(definition, ref, frame, descriptor)) {
    logSkipped(execution, name, ref, env);
    return { output: frame.raw, then: 'continue' };
  }
  const { task, isNew } = start(execution, name, ref, frame, env);
  const secretInput = secretInputOf(definition);
  if (secretInput !== undefined) task.secretInput = secretInput;
  let input = frame.raw;
  try {
    try {
      boundedRun(execution.state, frame.raw, ref);
      input = transformInput(definition, ref, frame, descriptor, secretInput !== undefined);
    } finally {
      // Without a task's transformed input, the log shows the raw one.
      if (isNew) logStarted(execution, definition, task, input);
    }
    const at: At = { ref, variables: descriptor({ input }) };
    const extensions = extensionsOf(execution, definition, env);
    const short = extensions.length > 0 ? null : execution.shortCall(execution, definition, task, input, at);
    const outcome =
      (short && (await short)) ??
      (await withTimeout(execution, definition, task, at, () =>
        extensions.length > 0
          ? execution.runExtended(execution, { extensions, definition }, task, input, at, () =>
              extendedWork(execution, definition, task, input, at),
            )
          : execution.runKind(execution, definition, task, input, at),
      ));
    while (mustYield()) await execution.yieldTask();
    const output = finish(definition, task, outcome, at);
    boundedRun(execution.state, output, ref);
    logCompleted(execution, task, output, outcome.data);
    return { output, then: outcome.then ?? definition.then ?? 'continue' };
  } catch (error) {
    if (isCancellation(error)) logCancelled(execution, task);
    else if (error instanceof DslFault) logFaulted(execution, task, error);
    throw error;
  }
}

/** A part of a task that the log, the status and the history show as a task of its own. */
export interface Step {
  name: string;
  /** Below the task's own pointer. */
  ref: string;
  type: string;
  /** For the log. */
  input: unknown;
}

/** Runs a step like a task, without data flow of its own. */
export async function runStep(
  execution: Execution,
  { name, ref, type, input }: Step,
  frame: Frame,
  env: Env,
  work: (task: Task) => Promise<Outcome>,
): Promise<Outcome> {
  const gate = execution.gate();
  if (gate) await gate;
  while (mustYield()) await execution.yieldTask();
  execution.checkEventLimit(ref);
  const { task, isNew } = start(execution, name, ref, frame, env);
  if (isNew) logStartedAs(execution, type, task, input);
  try {
    const outcome = await work(task);
    boundedRun(execution.state, bounded(outcome.output, 'the output', ref), ref);
    logCompleted(execution, task, outcome.output, outcome.data);
    return outcome;
  } catch (error) {
    if (isCancellation(error)) logCancelled(execution, task);
    else if (error instanceof DslFault) logFaulted(execution, task, error);
    throw error;
  }
}

/** What an extended task does itself; its timeout also limits its extensions. */
async function extendedWork(
  execution: Execution,
  definition: TaskDefinition,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  // The tasks before it may have exported something.
  const now = { ...at, variables: { ...at.variables, context: task.env.scope.context } };
  const short = execution.shortCall(execution, definition, task, input, now);
  return (short && (await short)) ?? execution.runKind(execution, definition, task, input, now);
}

/** Evaluates `if`, unless the task has been entered already. */
function isSkipped(definition: TaskBase, ref: string, frame: Frame, descriptor: () => Variables): boolean {
  return (
    !frame.started &&
    !frame.entered &&
    definition.if !== undefined &&
    !isTrue(definition.if, frame.raw, { ref, variables: descriptor() })
  );
}

/** Starts the task, or returns it as it was started before. */
function start(
  execution: Execution,
  name: string,
  ref: string,
  frame: Frame,
  env: Env,
): { task: Task; isNew: boolean } {
  if (frame.started) {
    const { visit, attempt } = frame.started;
    return { task: { name, ref, frame, visit, attempt, env }, isNew: false };
  }
  frame.entered = true;
  const { attempt } = env;
  const visit = execution.enter(ref);
  frame.started = { visit, at: new Date().toISOString(), attempt, ref };
  return { task: { name, ref, frame, visit, attempt, env }, isNew: true };
}

function logStarted(execution: Execution, definition: TaskDefinition, task: Task, input: unknown): void {
  logStartedAs(execution, taskType(definition, execution.definition), task, input);
}

function logStartedAs(execution: Execution, type: string, task: Task, input: unknown): void {
  const { name, attempt, frame } = task;
  execution.journal.add(
    execution.taskEvent(task, EVENT.taskStarted, 'started', LOG_TEXT.taskStarted(name), {
      data: { name, type, attempt, startedAt: frame.started?.at, ...preview('input', input) },
    }),
  );
}

function logSkipped(execution: Execution, name: string, ref: string, env: Env): void {
  const visit = execution.enter(ref);
  execution.journal.add(
    execution.taskEvent({ ref, visit, env }, EVENT.taskSkipped, 'skipped', LOG_TEXT.taskSkipped(name), {
      level: 'debug',
      data: { name },
    }),
  );
}

function logCompleted(execution: Execution, task: Task, output: unknown, data: Outcome['data']): void {
  const { name } = task;
  execution.journal.add(
    execution.taskEvent(task, EVENT.taskCompleted, 'completed', LOG_TEXT.taskCompleted(name), {
      data: { name, completedAt: new Date().toISOString(), ...preview('output', output), ...data },
    }),
  );
}

function logCancelled(execution: Execution, task: Task): void {
  const { name } = task;
  execution.journal.add(
    execution.taskEvent(task, EVENT.taskCancelled, 'cancelled', LOG_TEXT.taskCancelled(name), {
      data: { name, cancelledAt: new Date().toISOString() },
    }),
  );
}

function logFaulted(execution: Execution, task: Task, fault: DslFault): void {
  const { message, error } = loggedFault(fault);
  // Tasks around it fault with the same error.
  const spent = fault.error.instance === task.ref ? fault.spent : {};
  const { name } = task;
  execution.journal.add(
    execution.taskEvent(task, EVENT.taskFaulted, 'faulted', LOG_TEXT.taskFaulted(name, message), {
      level: 'error',
      data: { name, faultedAt: new Date().toISOString(), error, ...spent },
    }),
  );
}

/** Validation allows it for calls only, whose activity evaluates it. */
function secretInputOf(definition: TaskDefinition): string | Record<string, unknown> | undefined {
  const { input } = definition;
  if (input?.from === undefined || !('call' in definition)) return undefined;
  return readsSecrets(input.from) ? input.from : undefined;
}

/** A frame from an earlier execution or run holds its transformed input. */
function transformInput(
  definition: TaskBase,
  ref: string,
  frame: Frame,
  descriptor: (more?: Record<string, unknown>) => Variables,
  isSecret: boolean,
): unknown {
  if (frame.input) return frame.input.value;
  validate(definition.input?.schema, frame.raw, 'The input', ref);
  if (definition.input?.from === undefined || isSecret) return frame.raw;
  const value = transform(definition.input.from, frame.raw, { ref, variables: descriptor() });
  frame.input = { value };
  return value;
}

function finish(definition: TaskBase, task: Task, outcome: Outcome, at: At): unknown {
  const raw = bounded(outcome.output === undefined ? null : outcome.output, 'the output', task.ref);
  const variables = {
    ...at.variables,
    context: task.env.scope.context,
    task: { ...(at.variables['task'] as object), output: raw },
  };
  const output = transform(definition.output?.as, raw, { ref: task.ref, variables });
  validate(definition.output?.schema, output, 'The output', task.ref);
  if (definition.export?.as !== undefined) {
    const context = transform(definition.export.as, output, {
      ref: task.ref,
      variables: { ...variables, output },
    });
    validate(definition.export.schema, context, 'The exported context', task.ref);
    task.env.scope.context = context;
  }
  return output;
}

/**
 * Runs `body` until the task's deadline. Then everything in it is cancelled, and the task faults with a
 * timeout.
 */
function withTimeout<T>(
  execution: Execution,
  definition: TaskBase,
  task: Task,
  at: At,
  body: () => T | Promise<T>,
): T | Promise<T> {
  if (definition.timeout === undefined) return body();
  task.frame.deadline ??= Date.now() + timeoutMs(execution, definition.timeout, at);
  const { deadline } = task.frame;
  return execution.shortCalls.withDeadline(() => withTaskDeadline(task, deadline, async () => body()));
}

/** As `withDeadline`, with the fault of the task. */
export function withTaskDeadline<T>(
  { name, ref }: Pick<Task, 'name' | 'ref'>,
  deadline: number,
  body: () => Promise<T>,
): Promise<T> {
  return withDeadline(deadline, body, () =>
    fault('timeout', timeoutText(name, new Date(deadline).toISOString()), ref),
  );
}

export async function withDeadline<T>(
  deadline: number,
  body: () => Promise<T>,
  onTimeout: () => Error,
): Promise<T> {
  const work = new CancellationScope();
  let late = false;
  const timer = new CancellationScope();
  const watch = timer.run(async () => {
    await sleep(Math.max(1, deadline - Date.now()));
    late = true;
    work.cancel();
  });
  watch.catch(() => {});
  try {
    const value = await work.run(body);
    if (!late) return value;
  } catch (error) {
    throwIfCancelled();
    if (!late || !(isCancellation(error) || error instanceof DslFault)) throw error;
  } finally {
    timer.cancel();
  }
  // The deadline has passed, whatever the body did with its cancellation.
  throw onTimeout();
}

export function timeoutMs(execution: Execution, timeout: Timeout | string, at: At): number {
  const inline = typeof timeout === 'string' ? execution.definition.use?.timeouts?.[timeout] : timeout;
  if (inline === undefined)
    throw fault('configuration', `The timeout ${JSON.stringify(timeout)} is not defined`, at.ref);
  return toMs(inline.after, at);
}

/** A duration of the definition in milliseconds; a string may be `${ … }`. */
export function toMs(duration: unknown, at: At, input: unknown = null): number {
  const value = resolve(duration, input, at);
  try {
    return durationToMs(value as Parameters<typeof durationToMs>[0]);
  } catch (error) {
    throw fault('configuration', error instanceof Error ? error.message : String(error), at.ref);
  }
}

function taskVariables(
  execution: Execution,
  name: string,
  ref: string,
  definition: TaskDefinition,
  frame: Frame,
  env: Env,
  more: Record<string, unknown>,
): Variables {
  const startedAt = frame.started?.at;
  return {
    ...env.variables,
    context: env.scope.context,
    task: {
      name,
      reference: ref,
      definition,
      input: frame.raw,
      ...(startedAt === undefined ? {} : { startedAt: dateTime(startedAt) }),
      ...env.extended,
    },
    workflow: workflowDescriptor(execution),
    runtime: RUNTIME,
    ...more,
  };
}

export function workflowDescriptor(execution: Execution): Record<string, unknown> {
  return {
    id: execution.start.run_id,
    definition: execution.definition,
    input: execution.start.input,
    startedAt: dateTime(execution.state.started_at ?? new Date().toISOString()),
  };
}

/** dsl.md "DateTime Descriptor". */
function dateTime(iso: string): Record<string, unknown> {
  const milliseconds = Date.parse(iso);
  return { iso8601: iso, epoch: { seconds: Math.floor(milliseconds / 1000), milliseconds } };
}
