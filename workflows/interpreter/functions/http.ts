/** `call: http` (dsl-reference.md "HTTP Call"). What reads `$secrets` is left to the activity. */
import type { HttpArguments, ReferenceableAuthentication } from '../../../contracts/definition/model.ts';
import { resolve } from '../data-flow.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { calling } from '../activities.ts';
import { pointer } from '../pointer.ts';
import { invoke, outcomeOf } from './invoke.ts';

const TIMEOUT_MS = 5 * 60_000;
const READS_SECRETS = /\$(?:secrets|authorization)\b/;

export async function callHttp(x: Execution, args: HttpArguments, task: Task, input: unknown, at: At): Promise<Outcome> {
  const deferred: { pointer: string; expression: string }[] = [];
  const args_ = withAuthentication(x, args, task);
  const resolved = resolveDeferring(args_, input, at, '', deferred) as Record<string, unknown>;
  const variables = typeof input === 'object' && input !== null && !Array.isArray(input) ? (input as Record<string, unknown>) : {};
  const request = {
    run_id: x.start.run_id,
    task: task.ref,
    name: task.name,
    visit: task.visit,
    attempt: task.attempt,
    with: resolved,
    deferred,
    scope: deferred.length > 0 ? { ...at.variables, input } : null,
    secrets: x.definition.use?.secrets ?? [],
    variables,
    timeout_ms: TIMEOUT_MS,
  };
  const result = await invoke(x, task, (batch) => calling(TIMEOUT_MS, `${task.name}: http`).callHttp({ ...request, batch }));
  return outcomeOf(x, task, result);
}

/** `{use: name}` → the authentication of that name in the definition. */
function withAuthentication(x: Execution, args: HttpArguments, task: Task): HttpArguments {
  const { endpoint } = args;
  const authentication: ReferenceableAuthentication | undefined = typeof endpoint === 'string' ? undefined : endpoint.authentication;
  if (typeof endpoint === 'string' || authentication === undefined || !('use' in authentication)) return args;
  const found = x.definition.use?.authentications?.[authentication.use];
  if (!found) throw fault('configuration', `The authentication ${JSON.stringify(authentication.use)} is not defined`, task.ref);
  return { ...args, endpoint: { ...endpoint, authentication: found } };
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
