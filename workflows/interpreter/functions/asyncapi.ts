/** `call: asyncapi` (dsl-reference.md "AsyncAPI Call"). The tasks of `foreach` run after the subscription. */
import type { AsyncApiArguments, TaskItem } from '../../../language/definition/model.ts';
import { transform, validate, type At } from '../data-flow.ts';
import { mustYield } from '../effort.ts';
import type { Env, Execution, Outcome, Task } from '../execution.ts';
import { pointer } from '../pointer.ts';
import { listFrame, runList } from '../run-list.ts';
import { toMs } from '../run-task.ts';
import { bounded } from '../size.ts';
import { endpointIn, policyIn, uriIsText } from './endpoint.ts';
import { call, callLimitMs, requestOf, type Check } from './http.ts';

/** For the document and the connection, beside the time of the subscription. */
const CONNECTING_MS = 60_000;

type Subscription = NonNullable<AsyncApiArguments['subscription']>;

export async function callAsyncApi(
  execution: Execution,
  args: AsyncApiArguments,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const { subscription } = args;
  // The messages of an earlier execution, or of the run that this one retries.
  if (subscription?.foreach && task.frame.loop) return forEach(execution, subscription, task, at);
  const outcome = await call(execution, asyncApiRequest(execution, args, task, input, at), task);
  if (!subscription?.foreach) return outcome;
  task.frame.loop = { items: Array.isArray(outcome.output) ? outcome.output : [], index: 0, data: [] };
  const iterated = await forEach(execution, subscription, task, at);
  return { ...iterated, ...(outcome.data === undefined ? {} : { data: outcome.data }) };
}

function asyncApiRequest(
  execution: Execution,
  { document, authentication, subscription, ...rest }: AsyncApiArguments,
  task: Task,
  input: unknown,
  at: At,
): ReturnType<typeof requestOf> {
  const prepared = {
    ...rest,
    document: { ...document, endpoint: endpointIn(execution, document.endpoint, task, input) },
    ...(authentication === undefined
      ? {}
      : { authentication: policyIn(execution, authentication, task, input) }),
  };
  const check: Check = (resolved, deferred) => {
    const { endpoint } = resolved['document'] as typeof document;
    uriIsText(document.endpoint, endpoint, '/document/endpoint', deferred, task);
  };
  const request = requestOf(execution, 'asyncapi', prepared, check, task, input, at);
  if (subscription === undefined) return { ...request, timeout_ms: callLimitMs(task) };
  const { for: duration, ...consume } = subscription.consume;
  const forMs = duration === undefined ? undefined : toMs(duration, at, input);
  return {
    ...request,
    // Conditions are evaluated by the activity, as messages arrive.
    with: {
      ...request.with,
      subscription: {
        ...(subscription.filter === undefined ? {} : { filter: subscription.filter }),
        consume: { ...consume, ...(forMs === undefined ? {} : { for_ms: forMs }) },
      },
    },
    scope: { ...at.variables, input },
    timeout_ms: callLimitMs(task, forMs === undefined ? undefined : forMs + CONNECTING_MS),
  };
}

/**
 * dsl-reference.md "Subscription Iterator". The input of the tasks is the message. Output: the outputs in the
 * order of the messages.
 */
async function forEach(
  execution: Execution,
  { foreach = {} }: Subscription,
  task: Task,
  at: At,
): Promise<Outcome> {
  const { loop } = task.frame;
  if (!loop) throw new Error('no messages');
  const outputs = Array.isArray(loop.data) ? loop.data : [];
  const { item = 'item', at: index = 'index', do: tasks, output, export: exported } = foreach;
  const place = pointer(task.ref, 'with', 'subscription', 'foreach', 'do');
  while (loop.index < loop.items.length) {
    while (mustYield()) await execution.yieldTask();
    const message = loop.items[loop.index];
    const variables = { ...task.env.variables, [item]: message, [index]: loop.index };
    const env: Env = { ...task.env, variables };
    let result = { output: message, end: false };
    if (tasks !== undefined) {
      loop.list ??= listFrame(message);
      // Validation has checked the list.
      result = await runList(execution, tasks as TaskItem[], place, loop.list, env);
    }
    const scope = (): At => ({
      ref: task.ref,
      variables: { ...at.variables, ...variables, context: task.env.scope.context },
    });
    const value = transform(output?.as, result.output, scope());
    validate(output?.schema, value, 'The output of an iteration', task.ref);
    if (exported?.as !== undefined) {
      const context = transform(exported.as, value, scope());
      validate(exported.schema, context, 'The exported context', task.ref);
      task.env.scope.context = context;
    }
    outputs.push(value);
    loop.data = bounded([...outputs], 'the output', task.ref);
    if (result.end) return { output: loop.data, then: 'end' };
    delete loop.list;
    loop.index++;
  }
  return { output: loop.data };
}
