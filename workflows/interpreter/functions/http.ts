/**
 * `call: http`, `call: openapi` and `call: a2a` (dsl-reference.md "HTTP Call", "OpenAPI Call", "A2A Call").
 * Expressions that read `$secrets` are evaluated by the activity.
 */
import type { CallHttpInput } from '../../../contracts/activities.ts';
import type { A2aArguments, HttpArguments, OpenApiArguments } from '../../../language/definition/model.ts';
import { resolve, type At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { calling } from '../activities.ts';
import { pointer } from '../pointer.ts';
import { bounded } from '../size.ts';
import { endpointIn, policyIn, uriIsText } from './endpoint.ts';
import { invoke, outcomeOf } from './invoke.ts';

export const HTTP_TIMEOUT_MS = 5 * 60_000;
const MAX_CALL_MS = 24 * 3_600_000;
const READS_SECRETS = /\$(?:secrets|authorization)\b/;
/** With a secret input, every expression may read it. */
const ANY = /(?:)/;

export type Check = (resolved: Record<string, unknown>, deferred: ReadonlySet<string>) => void;

type Request = Omit<CallHttpInput, 'batch'>;

export function callHttp(
  execution: Execution,
  args: HttpArguments,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  return call(execution, httpRequest(execution, args, task, input, at), task);
}

/** The input of the activity, without what travels with it. */
export function httpRequest(
  execution: Execution,
  args: HttpArguments,
  task: Task,
  input: unknown,
  at: At,
): Request {
  const prepared = { ...args, endpoint: endpointIn(execution, args.endpoint, task, input) };
  const check: Check = (resolved, deferred) =>
    uriIsText(args.endpoint, resolved['endpoint'], '/endpoint', deferred, task);
  return requestOf(execution, 'http', prepared, check, task, input, at);
}

export function callOpenApi(
  execution: Execution,
  args: OpenApiArguments,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const { document, authentication, ...rest } = args;
  const prepared = {
    ...rest,
    document: { ...document, endpoint: endpointIn(execution, document.endpoint, task, input) },
    ...(authentication === undefined
      ? {}
      : { authentication: policyIn(execution, authentication, task, input) }),
  };
  const check: Check = (resolved, deferred) =>
    uriIsText(
      document.endpoint,
      (resolved['document'] as typeof document).endpoint,
      '/document/endpoint',
      deferred,
      task,
    );
  return call(execution, requestOf(execution, 'openapi', prepared, check, task, input, at), task);
}

export function callA2a(
  execution: Execution,
  args: A2aArguments,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const { method, agentCard, server, parameters } = args;
  const prepared = {
    method,
    ...(agentCard === undefined
      ? {}
      : { agentCard: { ...agentCard, endpoint: endpointIn(execution, agentCard.endpoint, task, input) } }),
    ...(agentCard !== undefined || server === undefined
      ? {}
      : { server: endpointIn(execution, server, task, input) }),
    ...(parameters === undefined ? {} : { parameters }),
  };
  const check: Check = (resolved, deferred) => {
    if (agentCard !== undefined)
      uriIsText(
        agentCard.endpoint,
        (resolved['agentCard'] as typeof agentCard).endpoint,
        '/agentCard/endpoint',
        deferred,
        task,
      );
    else if (server !== undefined) uriIsText(server, resolved['server'], '/server', deferred, task);
  };
  return call(execution, requestOf(execution, 'a2a', prepared, check, task, input, at), task);
}

export function requestOf(
  execution: Execution,
  name: CallHttpInput['function'],
  args: Record<string, unknown>,
  check: Check,
  task: Task,
  input: unknown,
  at: At,
): Request {
  const deferred: { pointer: string; expression: string }[] = [];
  const defers = task.secretInput === undefined ? READS_SECRETS : ANY;
  const resolved = bounded(
    resolveDeferring(args, input, at, '', deferred, defers),
    'with',
    task.ref,
  ) as Record<string, unknown>;
  check(resolved, new Set(deferred.map((expression) => expression.pointer)));
  return {
    function: name,
    run_id: execution.start.run_id,
    task: task.ref,
    name: task.name,
    visit: task.visit,
    attempt: task.attempt,
    with: resolved,
    deferred,
    ...(task.secretInput === undefined ? {} : { input_from: task.secretInput }),
    scope: deferred.length > 0 ? { ...at.variables, input } : null,
    secrets: execution.definition.use?.secrets ?? [],
    timeout_ms: HTTP_TIMEOUT_MS,
  };
}

/**
 * The time limit of a call: its own, else its task's timeout, else that of any call. At most a day, because
 * a call holds a connection.
 */
export function callLimitMs({ frame }: Task, ownMs?: number): number {
  const taskMs = frame.deadline === undefined ? HTTP_TIMEOUT_MS : frame.deadline - Date.now();
  return Math.min(MAX_CALL_MS, Math.max(1, ownMs ?? taskMs));
}

export async function call(execution: Execution, request: Request, task: Task): Promise<Outcome> {
  const result = await invoke(execution, task, { input: request }, (batch) =>
    calling(request.timeout_ms, `${task.name}: ${request.function}`).callHttp({ ...request, batch }),
  );
  return outcomeOf(execution, task, result);
}

export function resolveDeferring(
  value: unknown,
  input: unknown,
  at: At,
  where: string,
  deferred: { pointer: string; expression: string }[],
  defers = READS_SECRETS,
): unknown {
  if (typeof value === 'string') {
    if (!value.includes('${') || !defers.test(value)) return resolve(value, input, at);
    deferred.push({ pointer: where, expression: value });
    return null;
  }
  if (Array.isArray(value))
    return value.map((item, i) => resolveDeferring(item, input, at, pointer(where, i), deferred, defers));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        resolveDeferring(item, input, at, pointer(where, key), deferred, defers),
      ]),
    );
  }
  return value;
}
