/**
 * `call: agent` (docs/interface.md#call-agent): one activity for each invocation; an agent of type
 * `workflow` is a
 * child run.
 */
import type {
  CreateChildRunInput,
  Invoked,
  InvokeAgentInput,
  RemoteReply,
} from '../../../contracts/activities.ts';
import type { AgentArguments } from '../../../language/definition/model.ts';
import { describeViolations, violations } from '../../../language/schema/validate-json.ts';
import { resolve, type At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { toMs } from '../run-task.ts';
import { calling, bestEffort } from '../activities.ts';
import { newChild, runChild } from './child.ts';
import { answerRemote } from './answer-remote.ts';
import { invoke, outcomeOf } from './invoke.ts';

/** The DSL's limit for a single serverless function; longer calls need `timeout`. */
const DEFAULT_TIMEOUT_MS = 15 * 60_000;

export async function callAgent(
  execution: Execution,
  args: AgentArguments,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  // The child exists already, or comes from the run that this one retries.
  const { child } = task.frame;
  if (child) return finishChild(execution, task, child.agent?.workflow ?? { id: '', revision: null }, null);
  const request = agentRequest(execution, args, task, input, at);
  const { timeout_ms: timeoutMs } = request;
  const summary = `${task.name}: agent`;
  const call = (more: { round?: number; reply?: RemoteReply } = {}): Promise<Invoked> =>
    invoke(execution, task, { input: { ...request, ...more } }, (batch) =>
      calling(timeoutMs, summary).invokeAgent({ ...request, ...more, batch }),
    );
  const cancel = async (more: { round: number; reply: RemoteReply }): Promise<void> => {
    await invoke(execution, task, { input: { ...request, ...more }, call: false }, (batch) =>
      bestEffort(`${summary}, cancel`).invokeAgent({ ...request, ...more, batch }),
    );
  };
  const first = task.frame.remote ? null : await call();
  const result = first && !first.ask ? first : await answerRemote(execution, task, first, { call, cancel });
  if (result.child) {
    const { workflow_id, revision, input: childInput, output_schema } = result.child;
    newChild(task, childInput).agent = {
      workflow: { id: workflow_id, revision },
      output_schema,
      data: outcomeOf(execution, task, result).data ?? {},
    };
    return finishChild(execution, task, { id: workflow_id, revision }, childInput);
  }
  return outcomeOf(execution, task, result);
}

export function agentTimeoutMs({ timeout }: AgentArguments, input: unknown, at: At): number {
  return timeout === undefined ? DEFAULT_TIMEOUT_MS : toMs(timeout, at, input);
}

/** The input of the activity, without what travels with it. */
export function agentRequest(
  execution: Execution,
  args: AgentArguments,
  task: Task,
  input: unknown,
  at: At,
): Omit<InvokeAgentInput, 'batch'> {
  const agent = resolve(args.agent, input, at);
  if (typeof agent !== 'string' || agent === '')
    throw fault('configuration', 'with.agent must give the id or the name of an agent', task.ref);
  const version = resolve(args.version, input, at);
  const skill = resolve(args.skill, input, at);
  const stream = resolve(args.stream, input, at) ?? false;
  if (typeof stream !== 'boolean')
    throw fault('configuration', 'with.stream must give true or false', task.ref);
  return {
    run_id: execution.start.run_id,
    task: task.ref,
    name: task.name,
    visit: task.visit,
    attempt: task.attempt,
    agent,
    ...(typeof version === 'string' ? { version } : {}),
    ...(typeof skill === 'string' ? { skill } : {}),
    input: args.input === undefined ? input : resolve(args.input, input, at),
    timeout_ms: agentTimeoutMs(args, input, at),
    ...(stream ? { stream } : {}),
  };
}

/** The agent's `output_schema` applies to the output of its workflow's run, too. */
async function finishChild(
  execution: Execution,
  task: Task,
  workflow: CreateChildRunInput['workflow'],
  input: unknown,
): Promise<Outcome> {
  const child = await runChild(execution, task, workflow, input);
  const agent = task.frame.child?.agent;
  const mismatches = violations(agent?.output_schema, child.output);
  if (mismatches.length > 0)
    throw fault(
      'validation',
      `The answer of the agent does not fit its output_schema: ${describeViolations(mismatches)}`,
      task.ref,
    );
  return { ...child, data: { ...child.data, ...agent?.data } };
}
