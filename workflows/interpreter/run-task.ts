/** One task from raw input to exported context: dsl.md "Data Flow", steps 3 to 9. */
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import { durationToMs } from '../../contracts/definition/duration.ts';
import type { FlowDirective, Task as TaskDefinition, TaskBase, Timeout } from '../../contracts/definition/model.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { At, Variables } from './data-flow.ts';
import { isTrue, resolve, transform, validate } from './data-flow.ts';
import { isTired } from './effort.ts';
import { RUNTIME } from './execution.ts';
import type { Env, Execution, Outcome, Task } from './execution.ts';
import { DslFault, fault } from './fault.ts';
import type { Frame } from './state.ts';
import { preview } from './preview.ts';
import { bounded, boundedRun } from './size.ts';
import { taskType } from './task-type.ts';

export interface TaskResult {
  output: unknown;
  then: FlowDirective;
}

export async function runTask(x: Execution, name: string, ref: string, definition: TaskDefinition, frame: Frame, env: Env): Promise<TaskResult> {
  while (isTired()) await x.rest();
  const descriptor = (more: Record<string, unknown> = {}): Variables =>
    taskVariables(x, name, ref, definition, frame, env, more);
  const fresh = frame.started === undefined;
  if (!frame.started) {
    if (!frame.entered && definition.if !== undefined && !isTrue(definition.if, frame.raw, { ref, variables: descriptor() })) {
      const visit = x.enter(ref);
      x.journal.add(x.taskEvent({ ref, visit }, EVENT.taskSkipped, 'skipped', `${name} skipped: its condition is false`, { level: 'debug', data: { name } }));
      return { output: frame.raw, then: 'continue' };
    }
    frame.entered = true;
    frame.started = { visit: x.enter(ref), at: new Date().toISOString(), attempt: env.attempt };
  }
  const { visit, attempt, at: startedAt } = frame.started;
  const task: Task = { name, ref, frame, visit, attempt, env };
  const type = taskType(definition);
  if (fresh) {
    x.journal.add(x.taskEvent(task, EVENT.taskStarted, 'started', `${name} started`, { data: { name, type, attempt, startedAt } }));
  }
  try {
    boundedRun(x.state, frame.raw, ref);
    const input = transformInput(definition, ref, frame, descriptor);
    const at: At = { ref, variables: descriptor({ input }) };
    const outcome = await withTimeout(x, definition, task, at, () => x.runKind(x, definition, task, input, at));
    while (isTired()) await x.rest();
    const output = finish(definition, task, outcome, at);
    boundedRun(x.state, output, ref);
    const { data } = outcome;
    x.journal.add(
      x.taskEvent(task, EVENT.taskCompleted, 'completed', `${name} completed`, {
        data: { name, completedAt: new Date().toISOString(), ...preview('output', output), ...data },
      }),
    );
    return { output, then: outcome.then ?? definition.then ?? 'continue' };
  } catch (error) {
    if (isCancellation(error)) {
      x.journal.add(x.taskEvent(task, EVENT.taskCancelled, 'cancelled', `${name} cancelled`, { data: { name, cancelledAt: new Date().toISOString() } }));
    } else if (error instanceof DslFault) {
      x.journal.add(
        x.taskEvent(task, EVENT.taskFaulted, 'faulted', `${name} faulted: ${error.message}`, {
          level: 'error',
          data: { name, faultedAt: new Date().toISOString(), error: error.error },
        }),
      );
    }
    throw error;
  }
}

/** A frame taken over from before holds its transformed input. */
function transformInput(definition: TaskBase, ref: string, frame: Frame, descriptor: (more?: Record<string, unknown>) => Variables): unknown {
  if (frame.input) return frame.input.value;
  validate(definition.input?.schema, frame.raw, 'The input', ref);
  if (definition.input?.from === undefined) return frame.raw;
  const value = transform(definition.input.from, frame.raw, { ref, variables: descriptor() });
  frame.input = { value };
  return value;
}

function finish(definition: TaskBase, task: Task, outcome: Outcome, at: At): unknown {
  const raw = bounded(outcome.output === undefined ? null : outcome.output, 'the output', task.ref);
  const variables = { ...at.variables, context: task.env.scope.context, task: { ...(at.variables['task'] as object), output: raw } };
  const output = transform(definition.output?.as, raw, { ref: task.ref, variables });
  validate(definition.output?.schema, output, 'The output', task.ref);
  if (definition.export?.as !== undefined) {
    const context = transform(definition.export.as, output, { ref: task.ref, variables: { ...variables, output } });
    validate(definition.export.schema, context, 'The exported context', task.ref);
    task.env.scope.context = context;
  }
  return output;
}

/** Runs `body` until the task's deadline; then everything in it is cancelled and the task faults with a timeout. */
function withTimeout<T>(x: Execution, definition: TaskBase, task: Task, at: At, body: () => T | Promise<T>): T | Promise<T> {
  if (definition.timeout === undefined) return body();
  task.frame.deadline ??= Date.now() + timeoutMs(x, definition.timeout, at);
  return withDeadline(task.frame.deadline, async () => body(), () =>
    fault('timeout', `${task.name} did not finish in time (${new Date(task.frame.deadline ?? 0).toISOString()})`, task.ref),
  );
}

export async function withDeadline<T>(deadline: number, body: () => Promise<T>, onTimeout: () => Error): Promise<T> {
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
    return await work.run(body);
  } catch (error) {
    if (late && isCancellation(error)) throw onTimeout();
    throw error;
  } finally {
    timer.cancel();
  }
}

export function timeoutMs(x: Execution, timeout: Timeout | string, at: At): number {
  const inline = typeof timeout === 'string' ? x.definition.use?.timeouts?.[timeout] : timeout;
  if (inline === undefined) throw fault('configuration', `The timeout ${JSON.stringify(timeout)} is not defined`, at.ref);
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

function taskVariables(x: Execution, name: string, ref: string, definition: TaskDefinition, frame: Frame, env: Env, more: Record<string, unknown>): Variables {
  const startedAt = frame.started?.at;
  return {
    ...env.variables,
    context: env.scope.context,
    task: { name, reference: ref, definition, input: frame.raw, ...(startedAt === undefined ? {} : { startedAt: dateTime(startedAt) }) },
    workflow: workflowDescriptor(x),
    runtime: RUNTIME,
    ...more,
  };
}

export function workflowDescriptor(x: Execution): Record<string, unknown> {
  return {
    id: x.start.run_id,
    definition: x.definition,
    input: x.start.input,
    startedAt: dateTime(x.state.started_at ?? new Date().toISOString()),
  };
}

/** dsl.md "DateTime Descriptor". */
export function dateTime(iso: string): Record<string, unknown> {
  const milliseconds = Date.parse(iso);
  return { iso8601: iso, epoch: { seconds: Math.floor(milliseconds / 1000), milliseconds } };
}

