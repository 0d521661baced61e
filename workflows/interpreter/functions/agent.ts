/** `call: agent` (interface-decisions §5): one activity an invocation; an agent of type `workflow` is a child run. */
import type { CreateChildRunInput, Invoked, RemoteReply } from '../../../contracts/activities.ts';
import type { AgentArguments } from '../../../contracts/definition/model.ts';
import { describeViolations, violations } from '../../../contracts/validate-json.ts';
import { resolve } from '../data-flow.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { toMs } from '../run-task.ts';
import { calling, telling } from '../activities.ts';
import { newChild, runChild } from './child.ts';
import { answerRemote } from './answer-remote.ts';
import { invoke, outcomeOf } from './invoke.ts';

/** What the specification grants a single serverless function; a longer agent says so by `timeout`. */
const DEFAULT_TIMEOUT_MS = 15 * 60_000;

export async function callAgent(x: Execution, args: AgentArguments, task: Task, input: unknown, at: At): Promise<Outcome> {
  if (task.frame.child) return finishChild(x, task, { id: '', revision: null }, null);
  const agent = resolve(args.agent, input, at);
  if (typeof agent !== 'string' || agent === '') throw fault('configuration', 'with.agent must give the id or the name of an agent', task.ref);
  const version = resolve(args.version, input, at);
  const skill = resolve(args.skill, input, at);
  const timeoutMs = args.timeout === undefined ? DEFAULT_TIMEOUT_MS : toMs(args.timeout, at, input);
  const request = {
    run_id: x.start.run_id,
    task: task.ref,
    name: task.name,
    visit: task.visit,
    attempt: task.attempt,
    agent,
    ...(typeof version === 'string' ? { version } : {}),
    ...(typeof skill === 'string' ? { skill } : {}),
    input: args.input === undefined ? input : resolve(args.input, input, at),
    timeout_ms: timeoutMs,
  };
  const summary = `${task.name}: agent`;
  const call = (more: { round?: number; reply?: RemoteReply } = {}): Promise<Invoked> =>
    invoke(x, task, (batch) => calling(timeoutMs, summary).invokeAgent({ ...request, ...more, batch }));
  const cancel = async (more: { round: number; reply: RemoteReply }): Promise<void> => {
    await invoke(x, task, (batch) => telling(`${summary}, cancel`).invokeAgent({ ...request, ...more, batch }));
  };
  const first = task.frame.remote ? null : await call();
  const result = first && !first.ask ? first : await answerRemote(x, task, first, { call, cancel });
  if (result.child) {
    const { workflow_id, revision, input: childInput, output_schema } = result.child;
    newChild(task, childInput).agent = { output_schema, data: outcomeOf(x, task, result).data ?? {} };
    return finishChild(x, task, { id: workflow_id, revision }, childInput);
  }
  return outcomeOf(x, task, result);
}

/** The agent's `output_schema` holds for the output of its run, too. */
async function finishChild(x: Execution, task: Task, workflow: CreateChildRunInput['workflow'], input: unknown): Promise<Outcome> {
  const child = await runChild(x, task, workflow, input);
  const agent = task.frame.child?.agent;
  const wrong = violations(agent?.output_schema, child.output);
  if (wrong.length > 0) throw fault('validation', `The answer of the agent does not fit its output_schema: ${describeViolations(wrong)}`, task.ref);
  return { ...child, data: { ...child.data, ...agent?.data } };
}
