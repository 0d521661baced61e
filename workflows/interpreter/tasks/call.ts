import {
  isRunnable,
  resolveCallee,
  type RunnableFunction,
} from '../../../language/definition/call-function.ts';
import type { CallArguments, CallTask, Task as TaskDefinition } from '../../../language/definition/model.ts';
import { resolve, type At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { callAgent } from '../functions/agent.ts';
import { callAsyncApi } from '../functions/asyncapi.ts';
import { callGrpc } from '../functions/grpc.ts';
import { callA2a, callHttp, callOpenApi } from '../functions/http.ts';
import { callHuman } from '../functions/human.ts';
import { callMcp } from '../functions/mcp.ts';
import { pointer } from '../pointer.ts';
import { runTask } from '../run-task.ts';
import { callMap } from './map.ts';

type FunctionRunner<Name extends RunnableFunction> = (
  execution: Execution,
  args: CallArguments[Name],
  task: Task,
  input: unknown,
  at: At,
) => Promise<Outcome>;

const RUNNERS: { readonly [Name in RunnableFunction]: FunctionRunner<Name> } = {
  http: callHttp,
  agent: callAgent,
  human: callHuman,
  map: callMap,
  openapi: callOpenApi,
  grpc: callGrpc,
  asyncapi: callAsyncApi,
  a2a: callA2a,
  mcp: callMcp,
};

/**
 * dsl-reference.md "Call". Names in `use.functions` take precedence over the short forms of the default
 * catalog. Such a function is a task whose input is the call's `with`.
 */
export function runCall(
  execution: Execution,
  definition: CallTask,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const { call } = definition;
  const functions = execution.definition.use?.functions;
  const callee = resolveCallee(call, functions);
  const custom = callee?.kind === 'function' ? functions?.[callee.name] : undefined;
  if (custom) return runCustom(execution, definition, custom, task, input, at);
  if (callee?.kind !== 'builtin' || !isRunnable(callee.name))
    throw fault('configuration', `The function ${JSON.stringify(call)} is not available yet`, task.ref);
  // Validation has checked the shape of `with` for this function.
  const run = RUNNERS[callee.name] as FunctionRunner<RunnableFunction>;
  const args = (definition.with ?? {}) as unknown as CallArguments[RunnableFunction];
  return run(execution, args, task, input, at);
}

async function runCustom(
  execution: Execution,
  { call, ...definition }: CallTask,
  body: TaskDefinition,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const frame = (task.frame.body ??= {
    raw: definition.with === undefined ? input : resolve(definition.with, input, at),
  });
  const { output, then } = await runTask(
    execution,
    call,
    pointer('/use/functions', call),
    body,
    frame,
    task.env,
  );
  // `exit` leaves the function, which ends after its only task anyway; `end` ends the whole workflow.
  if (then === 'continue' || then === 'exit') return { output };
  if (then === 'end') return { output, then };
  throw fault(
    'configuration',
    `The function ${JSON.stringify(call)} has no task ${JSON.stringify(then)} to go on with`,
    task.ref,
  );
}
