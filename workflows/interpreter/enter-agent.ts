/**
 * A run that is the call of an agent of type `workflow`, asked for directly: before its first task it passes
 * the agent's limits and budgets, as a call by a definition does, and waits or asks like one.
 */
import type { Invoked, RemoteReply } from '../../contracts/activities.ts';
import { calling } from './activities.ts';
import type { Execution } from './execution.ts';
import { DEFAULT_CALL_TIMEOUT_MS } from './functions/agent.ts';
import { answerRemote } from './functions/answer-remote.ts';
import type { AgentRequest } from './functions/chat.ts';
import { invoke, outcomeOf } from './functions/invoke.ts';
import { runStep } from './run-task.ts';

/** The pointer of the step; no task of a definition has it. */
const REF = '/agent';

export async function enterAgent(execution: Execution): Promise<void> {
  const { state, start } = execution;
  if (!start.enters || state.entered) return;
  const { agent, name } = start.enters;
  const frame = (state.entry ??= { raw: null });
  const env = { scope: state.scope, variables: {}, attempt: 1, strand: execution.strand };
  const step = { name, ref: REF, type: 'agent', input: null };
  await runStep(execution, step, frame, env, async (task) => {
    const request: AgentRequest = {
      run_id: start.run_id,
      task: task.ref,
      name,
      visit: task.visit,
      attempt: task.attempt,
      agent,
      input: null,
      timeout_ms: DEFAULT_CALL_TIMEOUT_MS,
      entry: true,
    };
    const call = (more: { round?: number; reply?: RemoteReply } = {}): Promise<Invoked> =>
      invoke(execution, task, { input: { ...request, ...more } }, (batch) =>
        calling(request.timeout_ms, `${name}: agent`).invokeAgent({ ...request, ...more, batch }),
      );
    const first = frame.remote ? null : await call();
    // The end of the run is what ends its question.
    const result =
      first && !first.ask
        ? first
        : await answerRemote(execution, task, first, { call, cancel: async () => {} });
    const { data } = outcomeOf(execution, task, result);
    return { output: null, ...(data ? { data } : {}) };
  });
  state.entered = true;
  delete state.entry;
}
