/**
 * `call: agent` (docs/interface.md#call-agent): one activity for each invocation; an agent of type
 * `workflow` is a child run, one of kind `docker` a process.
 */
import type { CreateChildRunInput, Invoked, RemoteReply } from '../../../contracts/activities.ts';
import { MAX_SESSION_ID } from '../../../contracts/tool-loop.ts';
import type { AgentArguments } from '../../../language/definition/model.ts';
import { describeViolations, violations } from '../../../language/schema/validate-json.ts';
import { resolve, type At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault } from '../fault.ts';
import { toMs } from '../run-task.ts';
import { calling, bestEffort } from '../activities.ts';
import { awaitingOutcome } from './await-outcome.ts';
import { newChild, runChild } from './child.ts';
import { invocationKey } from '../../../contracts/invocation-key.ts';
import { answerRemote, WITHDRAWN } from './answer-remote.ts';
import { invoke, outcomeOf } from './invoke.ts';
import { runToolLoop } from './tool-loop.ts';
import { chatFrame, type AgentRequest } from './chat.ts';
import { runAgentProcess } from './process.ts';

/** The DSL's limit for a single serverless function; longer calls need `timeout`. */
export const DEFAULT_CALL_TIMEOUT_MS = 15 * 60_000;

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
  return callRequest(execution, agentRequest(execution, args, task, input, at), task);
}

/** Calls an agent of any kind. The task's frame holds what is under way. */
async function callRequest(execution: Execution, request: AgentRequest, task: Task): Promise<Outcome> {
  const { child, chat } = task.frame;
  if (child) return finishChild(execution, task, child.agent?.workflow ?? { id: '', revision: null }, null);
  if (chat) return runToolLoop(execution, task, request, chat, callRequest);
  const { timeout_ms: timeoutMs } = request;
  const summary = `${task.name}: agent`;
  const make = (more: { round?: number; reply?: RemoteReply } = {}): Promise<Invoked> =>
    invoke(execution, task, { input: { ...request, ...more } }, (batch) =>
      calling(timeoutMs, summary).invokeAgent({ ...request, ...more, batch }),
    );
  const withdraw = async (given: Record<string, unknown>): Promise<void> => {
    const more = { round: WITHDRAWN, withdraw: given };
    await invoke(execution, task, { input: { ...request, ...more }, call: false }, (batch) =>
      bestEffort(`${summary}, withdraw`).invokeAgent({ ...request, ...more, batch }),
    );
  };
  const call = (more: { round?: number; reply?: RemoteReply } = {}): Promise<Invoked> =>
    awaitingOutcome(
      execution,
      task,
      { key: invocationKey(request.run_id, { ...request, ...more }), withdraw },
      () => make(more),
    );
  const cancel = async (more: { round: number; reply: RemoteReply }): Promise<void> => {
    await invoke(execution, task, { input: { ...request, ...more }, call: false }, (batch) =>
      bestEffort(`${summary}, cancel`).invokeAgent({ ...request, ...more, batch }),
    );
  };
  const first = task.frame.remote ? null : await call();
  const result = first && !first.ask ? first : await answerRemote(execution, task, first, { call, cancel });
  if (result.loop) {
    outcomeOf(execution, task, result);
    task.frame.chat = chatFrame(result.loop, result, timeoutMs);
    return runToolLoop(execution, task, request, task.frame.chat, callRequest);
  }
  if (result.child) {
    const { workflow_id, revision, input: childInput, output_schema, rights_of } = result.child;
    newChild(task, childInput).agent = {
      workflow: { id: workflow_id, revision },
      ...(rights_of === undefined ? {} : { rights_of }),
      output_schema,
      data: outcomeOf(execution, task, result).data ?? {},
    };
    return finishChild(execution, task, { id: workflow_id, revision }, childInput);
  }
  if (result.process) {
    const ended = await runAgentProcess(execution, task, request);
    return outcomeOf(execution, task, {
      ...ended,
      warnings: [...(result.warnings ?? []), ...(ended.warnings ?? [])],
    });
  }
  return outcomeOf(execution, task, result);
}

export function agentTimeoutMs({ timeout }: AgentArguments, input: unknown, at: At): number {
  return timeout === undefined ? DEFAULT_CALL_TIMEOUT_MS : toMs(timeout, at, input);
}

/** The input of the activity, without what travels with it. */
export function agentRequest(
  execution: Execution,
  args: AgentArguments,
  task: Task,
  input: unknown,
  at: At,
): AgentRequest {
  const agent = resolve(args.agent, input, at);
  if (typeof agent !== 'string' || agent === '')
    throw fault('configuration', 'with.agent must give the id or the name of an agent', task.ref);
  const version = resolve(args.version, input, at);
  const skill = resolve(args.skill, input, at);
  const stream = resolve(args.stream, input, at) ?? execution.start.streams ?? false;
  const session = resolve(args.session, input, at) ?? null;
  if (session !== null && !isSessionId(session))
    throw fault(
      'configuration',
      `with.session must give a text of 1 to ${MAX_SESSION_ID} characters`,
      task.ref,
    );
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
    ...(session === null ? {} : { session }),
  };
}

function isSessionId(session: unknown): session is string {
  return typeof session === 'string' && session !== '' && Array.from(session).length <= MAX_SESSION_ID;
}

/** The agent's `output_schema` applies to the output of its workflow's run, too. */
async function finishChild(
  execution: Execution,
  task: Task,
  workflow: CreateChildRunInput['workflow'],
  input: unknown,
): Promise<Outcome> {
  const agent = task.frame.child?.agent;
  const child = await runChild(execution, task, workflow, input, agent?.rights_of);
  const mismatches = violations(agent?.output_schema, child.output);
  if (mismatches.length > 0)
    throw fault(
      'validation',
      `The answer of the agent does not fit its output_schema: ${describeViolations(mismatches)}`,
      task.ref,
    );
  return { ...child, data: { ...child.data, ...agent?.data } };
}
