import type { A2aArguments, AgentArguments, CallTask, HttpArguments, HumanArguments, OpenApiArguments, Task as TaskDefinition } from '../../../contracts/definition/model.ts';
import { resolve } from '../data-flow.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { callAgent } from '../functions/agent.ts';
import { callA2a, callHttp, callOpenApi } from '../functions/http.ts';
import { callHuman } from '../functions/human.ts';
import { pointer } from '../pointer.ts';
import { runTask } from '../run-task.ts';

/**
 * dsl-reference.md "Call". A name of `use.functions` wins over the short forms of the default catalog; such a function is
 * a task whose input is the call's `with`.
 */
export function runCall(x: Execution, definition: CallTask, task: Task, input: unknown, at: At): Promise<Outcome> {
  const { call } = definition;
  const functions = x.definition.use?.functions;
  const custom = functions && Object.hasOwn(functions, call) ? functions[call] : undefined;
  if (custom) return runCustom(x, definition, custom, task, input, at);
  // `with` has the shape that validation has checked for the function's name.
  const args: unknown = definition.with ?? {};
  switch (call) {
    case 'agent':
    case 'agent:1.0.0@default':
      return callAgent(x, args as AgentArguments, task, input, at);
    case 'human':
    case 'human:1.0.0@default':
      return callHuman(x, args as HumanArguments, task, input, at);
    case 'http':
      return callHttp(x, args as HttpArguments, task, input, at);
    case 'openapi':
      return callOpenApi(x, args as OpenApiArguments, task, input, at);
    case 'a2a':
      return callA2a(x, args as A2aArguments, task, input, at);
    default:
      throw fault('configuration', `The function ${JSON.stringify(call)} is not available yet`, task.ref);
  }
}

async function runCustom(x: Execution, { call, ...definition }: CallTask, body: TaskDefinition, task: Task, input: unknown, at: At): Promise<Outcome> {
  const frame = (task.frame.body ??= { raw: definition.with === undefined ? input : resolve(definition.with, input, at) });
  const { output } = await runTask(x, call, pointer('/use/functions', call), body, frame, task.env);
  return { output };
}
