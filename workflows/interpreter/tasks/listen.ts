/**
 * dsl-reference.md "Listen". The database decides which events the task takes (domain/events/match.ts); here
 * they are worked on one after the other. A signal brings the first, an activity asks for those after them,
 * so a fast sender cannot fill the run.
 */
import { CancellationScope } from '@temporalio/workflow';
import { LOG_TEXT } from '../../../contracts/log-texts.ts';
import { MAX_FILTERS_LENGTH, readEvent, type TakenEvent } from '../../../contracts/listening.ts';
import { EVENT, type WaitingOn } from '../../../contracts/run-events.ts';
import { listenerSpec } from '../../../language/definition/listening.ts';
import type { ListenTask } from '../../../language/definition/model.ts';
import { writing } from '../activities.ts';
import { isTrue, resolve, transform, validate, type At } from '../data-flow.ts';
import type { Env, Execution, Outcome, Task } from '../execution.ts';
import { fault, isRunClosed, RunClosed } from '../fault.ts';
import { workflowUuid } from '../ids.ts';
import { mustYield } from '../effort.ts';
import { pointer } from '../pointer.ts';
import { listFrame, runList } from '../run-list.ts';
import { bounded, sizeOf } from '../size.ts';
import type { ListenFrame } from '../state.ts';
import { receiveEvents } from '../taken-events.ts';

/** With the values that correlations expect. */
const MAX_EXPECTING = 2 * MAX_FILTERS_LENGTH;
/** The variables that filters read are stored with the listener. */
const MAX_VARIABLES = 256 * 1024;
/** How many types the wait shows. */
const SHOWN_TYPES = 10;

export async function runListen(
  execution: Execution,
  definition: ListenTask,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const listen = (task.frame.listen ??= newListenFrame());
  execution.listening.set(listen.id, listen);
  try {
    if (!listen.opened) await open(execution, definition, task, listen, input, at);
    const end = await workOn(execution, definition, task, listen, at);
    if (!listen.done) await close(execution, task, listen);
    logEnd(execution, task, listen);
    return { output: listen.output, ...(end ? { then: 'end' } : {}) };
  } catch (error) {
    if (!isRunClosed(error) && !execution.journal.closed && listen.opened)
      await CancellationScope.nonCancellable(() => close(execution, task, listen));
    throw error;
  } finally {
    execution.listening.delete(listen.id);
  }
}

function newListenFrame(): ListenFrame {
  return {
    id: workflowUuid(),
    opened: false,
    done: false,
    more: false,
    after: 0,
    worked: 0,
    buffer: [],
    output: [],
  };
}

async function open(
  execution: Execution,
  definition: ListenTask,
  task: Task,
  listen: ListenFrame,
  input: unknown,
  at: At,
): Promise<void> {
  const spec = specOf(definition, task, input, at);
  const on = waitOf(definition, task, listen);
  const event = execution.taskEvent(
    task,
    EVENT.correlationStarted,
    'listening',
    LOG_TEXT.correlationStarted(task.name, on.events ?? []),
    {
      data: {
        name: execution.qualifiedName,
        startedAt: new Date().toISOString(),
        listener_id: listen.id,
        events: on.events,
      },
    },
  );
  const request = {
    run_id: execution.start.run_id,
    id: listen.id,
    task: task.ref,
    visit: task.visit,
    spec,
    ...(listen.resumes === undefined ? {} : { resumes: listen.resumes }),
  };
  const { closed, after, ...taken } = await execution.journal.carry(
    { strand: task.env.strand, input: request, extra: [event], asIf: on },
    (batch) => writing((activities) => activities.openListener({ ...request, batch })),
  );
  if (closed) throw new RunClosed();
  listen.opened = true;
  listen.after = Math.max(listen.after, after);
  listen.worked = Math.max(listen.worked, after);
  delete listen.resumes;
  receiveEvents(listen, taken);
}

function specOf(definition: ListenTask, task: Task, input: unknown, at: At): ReturnType<typeof listenerSpec> {
  const variables = { ...at.variables, context: task.env.scope.context };
  let spec: ReturnType<typeof listenerSpec>;
  try {
    spec = listenerSpec(definition.listen.to, {
      resolve: (text) => resolve(text, input, { ...at, variables }),
      variables,
      once: definition.foreach === undefined,
    });
  } catch (error) {
    if (error instanceof Error && error.name === 'Error') throw fault('expression', error.message, task.ref);
    throw error;
  }
  const { variables: read, ...filters } = spec;
  if (sizeOf(filters) > MAX_EXPECTING)
    throw fault(
      'configuration',
      `the filters of listen have more than ${MAX_EXPECTING} characters with what they expect`,
      task.ref,
    );
  if (sizeOf(read) > MAX_VARIABLES)
    throw fault(
      'configuration',
      `the filters of listen read variables of more than ${MAX_VARIABLES} characters: read less of them`,
      task.ref,
    );
  return spec;
}

/** @returns whether a task of `foreach` ended the workflow */
async function workOn(
  execution: Execution,
  definition: ListenTask,
  task: Task,
  listen: ListenFrame,
  at: At,
): Promise<boolean> {
  const ready = (): boolean =>
    !execution.state.suspended && (listen.buffer.length > 0 || listen.more || listen.done);
  for (;;) {
    const gate = execution.gate();
    if (gate) await gate;
    while (mustYield()) await execution.yieldTask();
    const next = listen.current ?? listen.buffer.shift();
    if (next !== undefined) {
      const { end, stop } = await workOnEvent(execution, definition, task, listen, next, at);
      if (end || stop) return end;
    } else if (listen.done) return false;
    else if (listen.more) await ask(execution, task, listen);
    else {
      const on = [waitOf(definition, task, listen)];
      await execution.waiting(task, on, () => execution.until(ready));
      execution.recorded(task);
    }
  }
}

async function workOnEvent(
  execution: Execution,
  definition: ListenTask,
  task: Task,
  listen: ListenFrame,
  taken: TakenEvent,
  at: At,
): Promise<{ end: boolean; stop: boolean }> {
  if (listen.current === undefined) logReceived(execution, task, taken);
  listen.current = taken;
  let end = false;
  if (taken.role === 'main') {
    const value = readEvent(taken.event, definition.listen.read ?? 'data');
    const result = await eachEvent(execution, definition, task, listen, value, at);
    end = result.end;
    listen.output = bounded([...listen.output, result.output], 'the output', task.ref);
  }
  listen.worked = taken.seq;
  delete listen.current;
  delete listen.list;
  const { until } = definition.listen.to;
  const isStopped = typeof until === 'string' && definition.listen.to.any !== undefined;
  const stop =
    isStopped &&
    isTrue(until, listen.output, {
      ref: task.ref,
      variables: { ...at.variables, context: task.env.scope.context },
    });
  return { end, stop };
}

/** The tasks of `foreach`, its output and export. */
async function eachEvent(
  execution: Execution,
  { foreach }: ListenTask,
  task: Task,
  listen: ListenFrame,
  value: unknown,
  at: At,
): Promise<{ output: unknown; end: boolean }> {
  if (foreach === undefined) return { output: value, end: false };
  const { item = 'item', at: index = 'index' } = foreach;
  const own = { [item]: value, [index]: listen.output.length };
  let result: { output: unknown; end: boolean } = { output: value, end: false };
  if (foreach.do !== undefined) {
    const env: Env = { ...task.env, variables: { ...task.env.variables, ...own } };
    listen.list ??= listFrame(value);
    result = await runList(execution, foreach.do, pointer(task.ref, 'foreach', 'do'), listen.list, env);
  }
  const variables = (): At['variables'] => ({ ...at.variables, ...own, context: task.env.scope.context });
  const output = transform(foreach.output?.as, result.output, { ref: task.ref, variables: variables() });
  validate(foreach.output?.schema, output, 'The output of foreach', task.ref);
  if (foreach.export?.as !== undefined) {
    const context = transform(foreach.export.as, output, {
      ref: task.ref,
      variables: { ...variables(), output },
    });
    validate(foreach.export.schema, context, 'The exported context', task.ref);
    task.env.scope.context = context;
  }
  return { output, end: result.end };
}

async function ask(execution: Execution, task: Task, listen: ListenFrame): Promise<void> {
  const request = { run_id: execution.start.run_id, id: listen.id, after: listen.after };
  // A signal that comes meanwhile sets it again.
  listen.more = false;
  const { closed, ...taken } = await execution.journal.carry({ strand: task.env.strand }, (batch) =>
    writing((activities) => activities.takeEvents({ ...request, batch })),
  );
  if (closed) throw new RunClosed();
  receiveEvents(listen, taken);
  execution.recorded(task);
}

async function close(execution: Execution, task: Task, listen: ListenFrame): Promise<void> {
  const request = {
    run_id: execution.start.run_id,
    id: listen.id,
    seq: listen.current?.seq ?? listen.worked,
  };
  await execution.journal.carry({ strand: task.env.strand }, (batch) =>
    writing((activities) => activities.closeListener({ ...request, batch })),
  );
}

function waitOf({ listen: { to } }: ListenTask, task: Task, { id }: ListenFrame): WaitingOn {
  const filters = to.one ? [to.one] : (to.any ?? to.all ?? []);
  const types = filters.map((filter) => filter.with.type ?? filter.with.source ?? '*');
  const events = [...new Set(types.length === 0 ? ['*'] : types)].slice(0, SHOWN_TYPES);
  return { kind: 'event', task: task.ref, id, events };
}

function logReceived(execution: Execution, task: Task, { seq, event }: TakenEvent): void {
  const { id, source, type } = event;
  execution.journal.add(
    execution.taskEvent(
      task,
      EVENT.eventReceived,
      `event:${seq}`,
      LOG_TEXT.eventReceived(task.name, String(type)),
      { data: { event_id: id, source, type } },
    ),
  );
}

function logEnd(execution: Execution, task: Task, listen: ListenFrame): void {
  execution.journal.add(
    execution.taskEvent(
      task,
      EVENT.correlationCompleted,
      'listened',
      LOG_TEXT.correlationCompleted(task.name, listen.output.length),
      { data: { name: execution.qualifiedName, completedAt: new Date().toISOString() } },
    ),
  );
}
