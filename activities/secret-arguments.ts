/** Arguments of calls and processes whose expressions read secrets: they are evaluated only here. */
import { randomUUID } from 'node:crypto';
import type { CallHttpInput } from '../contracts/activities.ts';
import { fault } from '../contracts/fault.ts';
import { pointerTokens } from '../contracts/json-pointer.ts';
import { callBudget, type ExpressionBudget } from '../language/expression-budget.ts';
import { ExpressionError, template } from '../language/expressions/index.ts';
import type { ActivityDeps } from './deps.ts';

/** Reads the secrets that the definition declares, and no others. */
export function declaredSecrets(
  deps: Pick<ActivityDeps, 'orm' | 'secret'>,
  input: Pick<CallHttpInput, 'run_id' | 'secrets'>,
): (name: string) => Promise<string | null> {
  // Read only if a secret is needed.
  let rights: Promise<Rights> | null = null;
  return async (name) => {
    if (!input.secrets.includes(name))
      throw fault(
        'authorization',
        `The definition does not declare the secret ${JSON.stringify(name)} in use.secrets`,
      );
    const { owner_id: ownerId, unbound } = await (rights ??= rightsOf(deps, input.run_id));
    if (unbound.includes(name))
      throw fault(
        'authorization',
        `The secret ${JSON.stringify(name)} is not bound: it did not come along when the workflow changed ` +
          'its owner or team. Name a secret in a new revision',
      );
    return deps.secret(ownerId, name);
  };
}

interface Rights {
  owner_id: string;
  /** The names that the run's revision may not read (domain/secrets/unbind.ts). */
  unbound: string[];
}

/** A workflow's calls use the secrets of its team, else of its owner, whoever runs it. */
async function rightsOf({ orm }: Pick<ActivityDeps, 'orm'>, runId: string): Promise<Rights> {
  const [run] = await orm.em.fork().execute<Rights[]>(
    `select coalesce(w.holder_id, r.owner_id) as owner_id,
            array(select u.name from unbound_secret u
                   where u.workflow_id = r.workflow_id and u.revision = r.workflow_revision) as unbound
       from run r left join workflow w on w.id = r.workflow_id where r.id = ?`,
    [runId],
  );
  return run ?? { owner_id: '', unbound: [] };
}

const ADDRESS =
  /^(?:(?:\/document|\/agentCard|\/proto|\/source|\/transport\/http)?\/endpoint|\/server)(?:\/uri)?$/;

type DeferringCall = Pick<CallHttpInput, 'with' | 'deferred' | 'scope' | 'secrets' | 'input_from'>;

/**
 * Evaluates the expressions that read `$secrets`, which happens only here. `sensitive`: all texts that must
 * be redacted from the output.
 */
export async function withDeferred(
  input: DeferringCall,
  secret: (name: string) => Promise<string | null>,
  authorize: (args: Record<string, unknown>) => Promise<unknown> = async () => null,
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
  const budget = callBudget();
  const scopes = scopesOf(input, secrets, budget);
  const sensitive = [...textsIn(secrets), ...numbersIn(secrets)];
  const fill = (expressions: CallHttpInput['deferred'], authorization: unknown): void => {
    for (const { pointer, expression } of expressions) {
      const value = evaluate(expression, { ...scopes.real, authorization }, budget);
      // An object here could choose the secret with which the URL is called.
      if (ADDRESS.test(pointer) && typeof value !== 'string')
        throw fault('expression', 'The expression of the endpoint must give a text');
      const isPlain = !READS_CREDENTIALS.test(expression);
      const harmless = isPlain ? textsWithout(expression, scopes.other, budget) : new Set<string>();
      for (const text of textsIn(value)) if (!harmless.has(text)) sensitive.push(text);
      setAt(args, pointer, value);
    }
  };
  fill(
    input.deferred.filter(({ expression }) => !READS_AUTHORIZATION.test(expression)),
    null,
  );
  // Its authentication is complete now.
  const last = input.deferred.filter(({ expression }) => READS_AUTHORIZATION.test(expression));
  if (last.length > 0) fill(last, await authorize(args));
  return { args, sensitive };
}

const READS_AUTHORIZATION = /\$authorization\b/;
const READS_CREDENTIALS = /\$(?:secrets|authorization)\b/;

type Scope = Record<string, unknown>;

/**
 * The variables of the expressions; `other`: the same with other secrets in `input`, null if that fails. What
 * an expression gives with both does not come from a secret.
 */
function scopesOf(
  call: DeferringCall,
  secrets: Scope,
  budget: ExpressionBudget,
): { real: Scope; other: Scope | null } {
  const { input: raw, ...variables } = call.scope ?? {};
  const { input_from: from } = call;
  if (from === undefined) return { real: { ...variables, input: raw, secrets }, other: null };
  const inputOf = (values: unknown): unknown =>
    transformed(from, raw, { ...variables, secrets: values }, budget);
  const real = { ...variables, input: inputOf(secrets), secrets };
  try {
    return { real, other: { ...variables, input: inputOf(otherValues(secrets)), secrets: {} } };
  } catch {
    return { real, other: null };
  }
}

function transformed(from: unknown, raw: unknown, variables: Scope, budget: ExpressionBudget): unknown {
  if (typeof from === 'string') return evaluate(from, { ...variables, input: raw }, budget, 'loose');
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string')
      return value.includes('${') ? evaluate(value, { ...variables, input: raw }, budget) : value;
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  return walk(from);
}

/** Random values of the same shape. */
function otherValues(value: unknown): unknown {
  if (typeof value === 'string') return randomUUID();
  if (typeof value === 'number') return Math.random();
  if (Array.isArray(value)) return value.map(otherValues);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, otherValues(item)]));
}

function textsWithout(expression: string, scope: Scope | null, budget: ExpressionBudget): Set<string> {
  try {
    return new Set(
      scope === null ? [] : textsIn(evaluate(expression, { ...scope, authorization: null }, budget)),
    );
  } catch {
    return new Set();
  }
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

function evaluate(
  expression: string,
  variables: Scope,
  budget: ExpressionBudget,
  mode: 'strict' | 'loose' = 'strict',
): unknown {
  try {
    return template(expression, { mode }).first(variables['input'], {
      ...budget.options,
      variables,
      clock: () => new Date(),
    });
  } catch (error) {
    if (error instanceof ExpressionError && error.kind === 'limit')
      throw fault('expression', 'An expression that reads $secrets takes too long');
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
  const keys = pointerTokens(pointer);
  const last = keys.pop();
  let holder: Record<string, unknown> = target;
  for (const key of keys) holder = holder[key] as Record<string, unknown>;
  if (last !== undefined) holder[last] = value;
}
