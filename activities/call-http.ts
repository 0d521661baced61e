import type { CallHttpInput, RunActivities } from '../contracts/activities.ts';
import { fault } from '../contracts/fault.ts';
import { ExpressionError, template } from '../language/expressions/index.ts';
import type { ActivityDeps, CallDeps } from './deps.ts';
import { invokeOnce } from './invocation.ts';

/**
 * The DSL's calls, from `call: http` to `call: mcp`. The secrets are those that the definition
 * declares, from the workflow owner's store.
 */
export function callHttpActivity(deps: CallDeps): RunActivities['callHttp'] {
  return (input) => {
    const secret = declaredSecrets(deps, input);
    return invokeOnce(deps, input, {
      pin: null,
      // Not `scope`, which holds the times of this execution.
      identity: [input.function, input.with, input.deferred, input.secrets],
      prepare: async () => {},
      idempotent: () => true,
      async call(calling) {
        const { args, sensitive } = await withDeferred(input, secret);
        const { output, usage, warnings } = await deps.adapters[input.function]({
          with: args,
          sensitive,
          timeoutMs: input.timeout_ms,
          secret,
          ...calling,
        });
        return { output, ...(usage ? { usage: { ...usage } } : {}), ...(warnings ? { warnings } : {}) };
      },
    });
  };
}

/** Reads the secrets that the definition declares, and no others. */
export function declaredSecrets(
  deps: ActivityDeps,
  input: Pick<CallHttpInput, 'run_id' | 'secrets'>,
): (name: string) => Promise<string | null> {
  // Read only if a secret is needed.
  let ownerId: Promise<string> | null = null;
  return async (name) => {
    if (!input.secrets.includes(name))
      throw fault(
        'authorization',
        `The definition does not declare the secret ${JSON.stringify(name)} in use.secrets`,
      );
    return deps.secret(await (ownerId ??= rightsOf(deps, input.run_id)), name);
  };
}

/** A workflow's calls use its owner's secrets, whoever runs it. */
async function rightsOf({ orm }: ActivityDeps, runId: string): Promise<string> {
  const [run] = await orm.em.fork().execute<{ owner_id: string }[]>(
    `select coalesce(w.owner_id, r.owner_id) as owner_id
       from run r left join workflow w on w.id = r.workflow_id where r.id = ?`,
    [runId],
  );
  return run?.owner_id ?? '';
}

const ADDRESS = /^(?:(?:\/document|\/agentCard|\/proto|\/transport\/http)?\/endpoint|\/server)(?:\/uri)?$/;

/**
 * Evaluates the expressions that read `$secrets`, which happens only here. `sensitive`: all texts that must
 * be redacted from the output.
 */
export async function withDeferred(
  input: Pick<CallHttpInput, 'with' | 'deferred' | 'scope' | 'secrets'>,
  secret: (name: string) => Promise<string | null>,
): Promise<{ args: Record<string, unknown>; sensitive: string[] }> {
  if (input.deferred.length === 0) return { args: input.with, sensitive: [] };
  const secrets: Record<string, unknown> = {};
  for (const name of input.secrets) {
    const value = await secret(name);
    if (value === null)
      throw fault('authorization', `The workflow's owner has no secret ${JSON.stringify(name)}`);
    secrets[name] = parsed(value);
  }
  const args = structuredClone(input.with);
  const { input: taskInput, ...variables } = input.scope ?? {};
  const sensitive = [...textsIn(secrets), ...numbersIn(secrets)];
  for (const { pointer, expression } of input.deferred) {
    const value = evaluate(expression, taskInput, { ...variables, input: taskInput, secrets });
    // An object here could choose the secret with which the URL is called.
    if (ADDRESS.test(pointer) && typeof value !== 'string')
      throw fault('expression', 'The expression of the endpoint must give a text');
    sensitive.push(...textsIn(value));
    setAt(args, pointer, value);
  }
  return { args, sensitive };
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** A secret number can come back as a number or inside a text. */
function numbersIn(secrets: unknown): string[] {
  if (typeof secrets === 'number') return [String(secrets)];
  return typeof secrets === 'object' && secrets !== null ? Object.values(secrets).flatMap(numbersIn) : [];
}

function evaluate(expression: string, input: unknown, variables: Record<string, unknown>): unknown {
  try {
    return template(expression, { mode: 'strict' }).first(input, { variables, clock: () => new Date() });
  } catch (error) {
    // The message could quote the secret.
    if (error instanceof ExpressionError)
      throw fault('expression', 'An expression that reads $secrets failed');
    throw error;
  }
}

/** A secret that is a JSON object is an object for expressions (`$secrets.api.key`), any other a string. */
function parsed(value: string): unknown {
  try {
    const json: unknown = JSON.parse(value);
    return typeof json === 'object' && json !== null ? json : value;
  } catch {
    return value;
  }
}

function setAt(target: Record<string, unknown>, pointer: string, value: unknown): void {
  const keys = pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop();
  let holder: Record<string, unknown> = target;
  for (const key of keys) holder = holder[key] as Record<string, unknown>;
  if (last !== undefined) holder[last] = value;
}
