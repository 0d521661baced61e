/**
 * `run: script`, `run: container` and `run: shell` (dsl-reference.md "Run"): one activity for each process.
 * Expressions that read `$secrets` are evaluated by the activity.
 */
import { LOG_TEXT } from '../../../contracts/log-texts.ts';
import type {
  Invoked,
  InvokeAgentInput,
  RunActivities,
  RunContainerInput,
  RunProcessInput,
} from '../../../contracts/activities.ts';
import { PROCESS_KINDS, type ProcessKind } from '../../../contracts/process-policy.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import type { RunConfiguration, RunScript } from '../../../language/definition/model.ts';
import { calling, callingOn, isUntaken, writing } from '../activities.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { pointer } from '../pointer.ts';
import { bounded } from '../size.ts';
import { startChild } from './child.ts';
import { endpointIn, uriIsText } from './endpoint.ts';
import { resolveDeferring } from './http.ts';
import { invoke, outcomeOf } from './invoke.ts';

/** How long an attempt to find a worker lasts: the first, which the log tells, those after it, and all. */
const FIRST_WAIT_MS = 30_000;
const NEXT_WAIT_MS = 600_000;
const MAX_WAIT_MS = 24 * 3_600_000;

/** Longer than any limit of the installation or the task, which end the process earlier. */
const PROCESS_TIMEOUT_MS = 24 * 3_600_000;

export async function runProcess(
  execution: Execution,
  run: RunConfiguration,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const kind = PROCESS_KINDS.find((one) => run[one] !== undefined);
  if (kind === undefined) throw fault('configuration', 'The task runs nothing', task.ref);
  const configured: Configured = { ...run[kind] };
  const { resolved, deferred } = configurationOf(execution, configured, task, input, at);
  if (run.await === false) return detached(execution, { run, kind, resolved, deferred, task, input });
  const request: Omit<RunProcessInput, 'batch'> = {
    process: kind,
    return: run.return ?? 'stdout',
    run_id: execution.start.run_id,
    task: task.ref,
    name: task.name,
    visit: task.visit,
    attempt: task.attempt,
    with: resolved,
    deferred,
    scope: deferred.length > 0 ? { ...at.variables, input } : null,
    secrets: execution.definition.use?.secrets ?? [],
    timeout_ms: PROCESS_TIMEOUT_MS,
    ...(task.env.items && { items: task.env.items.map(({ index }) => index) }),
  };
  const queue = needsEngine(kind, configured) ? execution.processQueue : undefined;
  // Its own workers may be away, and the log says already that it has begun.
  if (queue !== undefined) await writeLog(execution, task);
  const result = await invoke(execution, task, { input: request }, (batch) =>
    queue === undefined
      ? calling(PROCESS_TIMEOUT_MS, `${task.name}: ${kind}`).runProcess({ ...request, batch })
      : runOn(execution, queue, task, kind, (workers) => workers.runProcess({ ...request, batch })),
  );
  logWritten(execution, task, result);
  return outcomeOf(execution, task, result);
}

/** The process of an agent of kind `docker`, which `invokeAgent` has found. */
export async function runAgentProcess(
  execution: Execution,
  task: Task,
  agent: Omit<InvokeAgentInput, 'batch'>,
): Promise<Invoked> {
  const { run_id, name, visit, attempt, version, input, timeout_ms, tool } = agent;
  const request: Omit<RunContainerInput, 'batch'> = {
    run_id,
    task: task.ref,
    name,
    visit,
    attempt,
    agent: agent.agent,
    ...(version === undefined ? {} : { version }),
    input,
    timeout_ms,
    ...(tool === undefined ? {} : { tool }),
    round: 0,
    ...(task.env.items && { items: task.env.items.map(({ index }) => index) }),
  };
  const queue = execution.processQueue;
  const result = await invoke(execution, task, { input: request }, (batch) =>
    queue === undefined
      ? calling(PROCESS_TIMEOUT_MS, `${task.name}: container`).runContainer({ ...request, batch })
      : runOn(execution, queue, task, 'container', (workers) => workers.runContainer({ ...request, batch })),
  );
  logWritten(execution, task, result);
  return result;
}

function needsEngine(kind: ProcessKind, { language }: Configured): boolean {
  return kind !== 'script' || language === 'python';
}

function writeLog(execution: Execution, task: Task): Promise<unknown> {
  const { run_id } = execution.start;
  return execution.journal.carry({ strand: task.env.strand }, (batch) =>
    writing((activities) => activities.appendEvents({ run_id, batch })),
  );
}

/** Waits for a worker of the queue, and says so in the log if that takes long. */
async function runOn(
  execution: Execution,
  queue: string,
  task: Task,
  kind: ProcessKind,
  run: (workers: Pick<RunActivities, 'runProcess' | 'runContainer'>) => Promise<Invoked>,
): Promise<Invoked> {
  const summary = `${task.name}: ${kind}`;
  for (let [waitedMs, waitMs] = [0, FIRST_WAIT_MS]; ; waitMs = NEXT_WAIT_MS) {
    try {
      return await run(callingOn(queue, waitMs, PROCESS_TIMEOUT_MS, summary));
    } catch (error) {
      if (!isUntaken(error)) throw error;
      waitedMs += waitMs;
      if (waitedMs >= MAX_WAIT_MS)
        throw fault('timeout', `No worker of the task queue ${queue} has taken the process`, task.ref);
      if (waitMs !== FIRST_WAIT_MS) continue;
      const message = LOG_TEXT.processWaits(task.name, queue, FIRST_WAIT_MS / 1000);
      execution.journal.add(
        execution.taskEvent(task, EVENT.processWaits, `waits:${task.attempt}`, message, { level: 'warn' }),
      );
    }
  }
}

/** With expressions evaluated, except in a script's code: a `${` in it belongs to the script. */
function configurationOf(
  execution: Execution,
  { code, source, ...templates }: Configured,
  task: Task,
  input: unknown,
  at: At,
): { resolved: Record<string, unknown>; deferred: RunProcessInput['deferred'] } {
  const deferred: RunProcessInput['deferred'] = [];
  const prepared = {
    ...templates,
    ...(source === undefined
      ? {}
      : { source: { ...source, endpoint: endpointIn(execution, source.endpoint, task, input) } }),
  };
  const resolved = bounded(resolveDeferring(prepared, input, at, '', deferred), 'run', task.ref) as Record<
    string,
    unknown
  >;
  if (source !== undefined) {
    const { endpoint } = resolved['source'] as ScriptSource;
    const pointers = new Set(deferred.map((expression) => expression.pointer));
    uriIsText(source.endpoint, endpoint, '/source/endpoint', pointers, task);
  }
  return { resolved: { ...resolved, ...(code === undefined ? {} : { code }) }, deferred };
}

type Configured = Partial<Pick<RunScript, 'code' | 'source'>> & Record<string, unknown>;
type ScriptSource = NonNullable<RunScript['source']>;

function logWritten(execution: Execution, task: Task, { written }: Invoked): void {
  for (const { stream, text, cut } of written ?? []) {
    const level = stream === 'stderr' ? 'warn' : 'info';
    execution.journal.add(
      execution.taskEvent(
        task,
        EVENT.processOutput,
        `output:${stream}`,
        LOG_TEXT.processOutput(task.name, stream, text),
        { level, data: { stream, text, cut } },
      ),
    );
  }
}

interface Detached {
  run: RunConfiguration;
  kind: (typeof PROCESS_KINDS)[number];
  resolved: Record<string, unknown>;
  deferred: RunProcessInput['deferred'];
  task: Task;
  input: unknown;
}

/**
 * Runs the process in a child run that nothing waits for. The values of the expressions are its input, and
 * its definition refers to them, because no text that comes from data may be read as an expression.
 */
async function detached(
  execution: Execution,
  { run, kind, resolved, deferred, task, input }: Detached,
): Promise<Outcome> {
  const { document, use } = execution.definition;
  // The extensions run around this task, and not once more in the other run.
  const { extensions: _extensions, ...others } = use ?? {};
  const secrets = new Map(deferred.map((one) => [one.pointer, one.expression]));
  const values: Record<string, unknown> = {};
  const refer = (value: unknown, where: string): unknown => {
    if (where === '/code') return value;
    const expression = secrets.get(where);
    if (expression !== undefined) return expression;
    if (Array.isArray(value)) return value.map((item, index) => refer(item, pointer(where, index)));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, refer(item, pointer(where, key))]),
      );
    if (typeof value !== 'string' || !value.includes('${')) return value;
    values[where] = value;
    return `\${ .[${JSON.stringify(where)}] }`;
  };
  const definition = {
    document,
    ...(use === undefined ? {} : { use: others }),
    do: [{ [task.name]: { run: { return: run.return ?? 'stdout', [kind]: refer(resolved, '') } } }],
  };
  const id = await startChild(execution, task, { definition }, values);
  return { output: input, data: { child_run_id: id } };
}
