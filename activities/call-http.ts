import { isRecord } from '../contracts/is-record.ts';
import type { RunActivities } from '../contracts/activities.ts';
import { fault } from '../contracts/fault.ts';
import { ExpressionBudget } from '../language/expression-budget.ts';
import { ExpressionError, template } from '../language/expressions/index.ts';
import type { CallDeps } from './deps.ts';
import { invokeOnce } from './invocation.ts';
import { declaredSecrets, withDeferred } from './secret-arguments.ts';

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
      identity: [
        input.function,
        input.with,
        input.deferred,
        input.secrets,
        ...(input.input_from === undefined ? [] : [input.input_from]),
      ],
      prepare: async () => {},
      idempotent: () => true,
      async call(calling) {
        const authorize = (args: Record<string, unknown>): ReturnType<typeof deps.adapters.authorization> =>
          deps.adapters.authorization(policyOf(args), {
            with: args,
            timeoutMs: input.timeout_ms,
            secret,
            ...calling,
          });
        const { args, sensitive } = await withDeferred(input, secret, authorize);
        const { output, usage, warnings } = await deps.adapters[input.function]({
          with: args,
          sensitive,
          timeoutMs: input.timeout_ms,
          secret,
          test: conditionsOf(input.scope ?? {}),
          ...calling,
        });
        return { output, ...(usage ? { usage: { ...usage } } : {}), ...(warnings ? { warnings } : {}) };
      },
    });
  };
}

/** The authentication of a call, wherever its function has it. */
function policyOf(args: Record<string, unknown>): unknown {
  const member = (value: unknown, key: string): unknown => (isRecord(value) ? value[key] : undefined);
  const { authentication, endpoint, server, service, transport, agentCard, document } = args;
  const endpoints = [member(transport, 'http'), agentCard, document].map((from) => member(from, 'endpoint'));
  const policies = [endpoint, service, server, ...endpoints].map((from) => member(from, 'authentication'));
  return [authentication, ...policies].find((policy) => policy !== undefined);
}

/** Steps of all conditions of one call, a few seconds of the worker's time. */
const MAX_CONDITION_STEPS = 20_000_000;
const MAX_CONDITION_MS = 10_000;

/** Tests conditions of a subscription: everything except false and null is true in jq. */
function conditionsOf(scope: Record<string, unknown>): (condition: string, value: unknown) => boolean {
  const budget = new ExpressionBudget({ steps: MAX_CONDITION_STEPS, ms: MAX_CONDITION_MS });
  return (condition, value) => {
    try {
      const options = { variables: scope, clock: () => new Date(), ...budget.options };
      const result: unknown = template(condition, { mode: 'loose' }).first(value, options);
      return result !== false && result !== null && result !== undefined;
    } catch (error) {
      if (error instanceof ExpressionError)
        throw fault('expression', `A condition of the subscription failed: ${error.message}`, {
          cause: error,
        });
      throw error;
    }
  };
}
