/** `call: http`, `call: openapi` and `call: a2a` (dsl-reference.md "HTTP Call", "OpenAPI Call", "A2A Call"). What reads `$secrets` is left to the activity. */
import type { A2aArguments, HttpArguments, OpenApiArguments } from '../../../contracts/definition/model.ts';
import { resolve } from '../data-flow.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { calling } from '../activities.ts';
import { pointer } from '../pointer.ts';
import { bounded } from '../size.ts';
import { endpointIn, policyIn, uriIsText } from './endpoint.ts';
import { invoke, outcomeOf } from './invoke.ts';

const TIMEOUT_MS = 5 * 60_000;
const READS_SECRETS = /\$(?:secrets|authorization)\b/;

type Check = (resolved: Record<string, unknown>, deferred: ReadonlySet<string>) => void;

export function callHttp(x: Execution, args: HttpArguments, task: Task, input: unknown, at: At): Promise<Outcome> {
  const prepared = { ...args, endpoint: endpointIn(x, args.endpoint, task, input) };
  const check: Check = (resolved, deferred) => uriIsText(args.endpoint, resolved['endpoint'], '/endpoint', deferred, task);
  return call(x, 'http', prepared, check, task, input, at);
}

export function callOpenApi(x: Execution, args: OpenApiArguments, task: Task, input: unknown, at: At): Promise<Outcome> {
  const { document, authentication, ...rest } = args;
  const prepared = {
    ...rest,
    document: { ...document, endpoint: endpointIn(x, document.endpoint, task, input) },
    ...(authentication === undefined ? {} : { authentication: policyIn(x, authentication, task, input) }),
  };
  const check: Check = (resolved, deferred) =>
    uriIsText(document.endpoint, (resolved['document'] as typeof document).endpoint, '/document/endpoint', deferred, task);
  return call(x, 'openapi', prepared, check, task, input, at);
}

export function callA2a(x: Execution, args: A2aArguments, task: Task, input: unknown, at: At): Promise<Outcome> {
  const { method, agentCard, server, parameters } = args;
  const prepared = {
    method,
    ...(agentCard === undefined ? {} : { agentCard: { ...agentCard, endpoint: endpointIn(x, agentCard.endpoint, task, input) } }),
    ...(agentCard !== undefined || server === undefined ? {} : { server: endpointIn(x, server, task, input) }),
    ...(parameters === undefined ? {} : { parameters }),
  };
  const check: Check = (resolved, deferred) => {
    if (agentCard !== undefined) uriIsText(agentCard.endpoint, (resolved['agentCard'] as typeof agentCard).endpoint, '/agentCard/endpoint', deferred, task);
    else if (server !== undefined) uriIsText(server, resolved['server'], '/server', deferred, task);
  };
  return call(x, 'a2a', prepared, check, task, input, at);
}

async function call(x: Execution, name: 'http' | 'openapi' | 'a2a', args: Record<string, unknown>, check: Check, task: Task, input: unknown, at: At): Promise<Outcome> {
  const deferred: { pointer: string; expression: string }[] = [];
  const resolved = bounded(resolveDeferring(args, input, at, '', deferred), 'with', task.ref) as Record<string, unknown>;
  check(resolved, new Set(deferred.map((each) => each.pointer)));
  const request = {
    function: name,
    run_id: x.start.run_id,
    task: task.ref,
    name: task.name,
    visit: task.visit,
    attempt: task.attempt,
    with: resolved,
    deferred,
    scope: deferred.length > 0 ? { ...at.variables, input } : null,
    secrets: x.definition.use?.secrets ?? [],
    timeout_ms: TIMEOUT_MS,
  };
  const result = await invoke(x, task, (batch) => calling(TIMEOUT_MS, `${task.name}: ${name}`).callHttp({ ...request, batch }));
  return outcomeOf(x, task, result);
}

function resolveDeferring(value: unknown, input: unknown, at: At, where: string, deferred: { pointer: string; expression: string }[]): unknown {
  if (typeof value === 'string') {
    if (!value.includes('${') || !READS_SECRETS.test(value)) return resolve(value, input, at);
    deferred.push({ pointer: where, expression: value });
    return null;
  }
  if (Array.isArray(value)) return value.map((item, i) => resolveDeferring(item, input, at, pointer(where, i), deferred));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, resolveDeferring(item, input, at, pointer(where, key), deferred)]),
    );
  }
  return value;
}
