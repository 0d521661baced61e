/** Agents of kind `a2a`: each invocation is one task of a remote agent, over A2A 1.0 or 0.3. */
import { TaskState, type Message, type Task } from '@a2a-js/sdk';
import { a2aConfiguration } from '../../contracts/agent-kinds/a2a.ts';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { AgentAdapter, AgentCall, AgentResult } from '../../domain/ports.ts';
import type { TokenSource } from '../authentication/oauth-token.ts';
import { parseConfiguration, timeoutOf, withoutSecrets } from '../call-settings.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { loadSensitive } from '../secrets/sensitive.ts';
import { createCardSource } from './agent-card.ts';
import { CANCEL_MS, connectAgent, type ConnectedAgent } from './connect-agent.ts';
import type { Conversation } from './conversation.ts';
import { followTask, type Settled } from './follow-task.ts';
import { markOwnFailures, OwnFailure } from './own-failure.ts';
import { outputOfArtifacts, partsOf, valueOf } from './part-values.ts';
import { answerParts, credentialQuestionOf, questionOf } from './question.ts';
import type { RemoteAgent } from './remote-agent.ts';
import { remoteFault, stateFault } from './remote-faults.ts';
import { isAsking, markOf, stateOf } from './task-view.ts';
import { userMessage } from './user-message.ts';

/** The longest delay that timers support. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1 - 2 * CANCEL_MS;

/**
 * Configuration: `a2aConfiguration`; address: the agent's `url`; input and output: `part-values.ts`. If the
 * task asks for something, the result has `ask`, and a later call sends the answer with `reply`. Nothing is
 * sent twice: a repeat follows the task stored in `progress`, else a task that the agent lists for this
 * message, else it sends the message again with the same id.
 */
export function createA2aAdapter(deps: { egress: EgressPolicy; tokens: TokenSource }): AgentAdapter {
  const tools = { ...deps, cards: createCardSource() };
  return {
    async invoke(call): Promise<AgentResult> {
      const startedAt = performance.now();
      const configuration = parseConfiguration(a2aConfiguration, call.agent.configuration);
      const timeoutMs = Math.min(timeoutOf(configuration.timeout, call.timeoutMs), MAX_TIMEOUT_MS);
      const sensitive = await loadSensitive(
        [configuration, call.agent.url, call.agent.authentication_config],
        call.secret,
      );
      const deadline = AbortSignal.timeout(timeoutMs);
      const conversation: Conversation = {
        call: { ...markOwnFailures(call), timeoutMs },
        configuration,
        sensitive,
        signal: AbortSignal.any([call.signal, deadline]),
      };
      call.partial?.redactBy(sensitive);
      try {
        const connected = await connectAgent(tools, conversation);
        try {
          const result = sensitive.clean(await converse(connected, conversation));
          // The assertion holds: `clean` copies and keeps the shape.
          return {
            ...(result as AgentResult),
            usage: { requests: 1, duration_ms: Math.round(performance.now() - startedAt) },
          };
        } finally {
          connected.remote.close();
        }
      } catch (error) {
        if (call.signal.aborted) throw call.signal.reason;
        if (error instanceof OwnFailure) throw error.cause;
        if (deadline.aborted)
          throw fault('timeout', `${call.agent.name} did not finish within ${timeoutMs} ms`, {
            cause: error,
          });
        throw withoutSecrets(remoteFault(error, call.agent.name, sensitive), sensitive);
      }
    },
  };
}

/** Sends the message of the call, unless an earlier attempt did, and follows its task to the result. */
async function converse(
  { remote, inputModes }: ConnectedAgent,
  conversation: Conversation,
): Promise<AgentResult> {
  const { call, configuration, signal } = conversation;
  const answer = call.reply ? answerParts(call.reply) : null;
  if (call.reply && answer === null) return refuseToAnswer(remote, call, call.reply.remote.task_id);
  const parts = answer ?? (await partsOf(call.input, inputModes, call.files));
  const message = userMessage(conversation, parts);
  let taskId = call.reply?.remote.task_id ?? null;
  try {
    const earlier = await earlierAttempt(remote, conversation, message);
    taskId = earlier.taskId;
    const settled = await followTask({
      remote,
      message,
      taskId,
      sent: earlier.sent,
      answered: call.reply?.remote.mark ?? null,
      pollMs:
        configuration.poll_interval === undefined
          ? null
          : timeoutOf(configuration.poll_interval, Number.MAX_SAFE_INTEGER),
      signal,
      partial: call.partial,
      async known(task) {
        taskId = task.task_id;
        await call.progress?.keep({ ...task });
      },
    });
    return await resultOf(settled, conversation);
  } catch (error) {
    if (signal.aborted && (await mayCancelTask(call))) await cancelQuietly(remote, taskId, message);
    throw error;
  }
}

/** Whether the message has been sent already, and the task that it created or answers, if that is known. */
async function earlierAttempt(
  remote: RemoteAgent,
  { call, signal }: Conversation,
  message: Message,
): Promise<{ sent: boolean; taskId: string | null }> {
  const { progress, reply } = call;
  const kept = parseKept(progress?.kept);
  if (kept !== null) return { sent: true, taskId: kept.task_id };
  const taskId = reply?.remote.task_id ?? null;
  // An empty answer has nothing to send: the agent received the credential in another way.
  if (message.parts.length === 0) return { sent: true, taskId };
  if (progress?.repeated !== true) return { sent: false, taskId };
  const found = reply
    ? await taskBeyondQuestion(remote, reply.remote, signal)
    : await remote.taskOf(message, signal).catch(() => null);
  return { sent: found !== null, taskId: found?.id ?? taskId };
}

/** The answered task if it has continued since, which means that the answer has arrived; else null. */
async function taskBeyondQuestion(
  remote: RemoteAgent,
  { task_id: id, mark }: { task_id: string; mark: string },
  signal: AbortSignal,
): Promise<Task | null> {
  const task = await remote.task(id, signal);
  return !isAsking(task) || markOf(task) !== mark ? task : null;
}

async function resultOf(settled: Settled, { call, sensitive }: Conversation): Promise<AgentResult> {
  const { name } = call.agent;
  const files = call.files && sensitive.cleanFiles(call.files);
  if ('message' in settled) return { output: await valueOf(settled.message.parts, files) };
  const { task, view } = settled;
  if (stateOf(task) === TaskState.TASK_STATE_INPUT_REQUIRED)
    return { output: null, ask: await questionOf(task, name, sensitive) };
  if (stateOf(task) === TaskState.TASK_STATE_AUTH_REQUIRED)
    return { output: null, ask: credentialQuestionOf(task, name) };
  const failure = stateFault(task, name, sensitive);
  if (failure !== null) throw failure;
  if (task.artifacts.length > 0)
    return { output: await outputOfArtifacts(task.artifacts, view.pieced, files) };
  // Some agents answer with their last status instead of an artifact.
  return { output: await valueOf(task.status?.message?.parts ?? [], files) };
}

async function refuseToAnswer(remote: RemoteAgent, call: AgentCall, taskId: string): Promise<never> {
  await remote.cancel(taskId, AbortSignal.timeout(CANCEL_MS)).catch(() => undefined);
  const comment = call.reply?.decision?.comment ?? '';
  throw fault(
    'authorization',
    `The question of ${call.agent.name} was not answered${comment === '' ? '' : `: ${comment}`}; ` +
      'its task was cancelled',
  );
}

/** False if another worker continues the aborted call. At its time limit, no worker does. */
async function mayCancelTask(call: AgentCall): Promise<boolean> {
  return !call.signal.aborted || ((await call.cancelRequested?.()) ?? true);
}

/**
 * Cancels the remote task within a time limit; errors are ignored, so they do not hide the original failure.
 */
async function cancelQuietly(remote: RemoteAgent, taskId: string | null, message: Message): Promise<void> {
  const signal = AbortSignal.timeout(CANCEL_MS);
  try {
    const id = taskId ?? (await remote.taskOf(message, signal))?.id;
    if (id !== undefined) await remote.cancel(id, signal);
  } catch {
    // The agent is unreachable, or the task has ended.
  }
}

function parseKept(kept: unknown): { task_id: string } | null {
  const { task_id, context_id } = isRecord(kept) ? kept : {};
  return typeof task_id === 'string' && typeof context_id === 'string' ? { task_id } : null;
}
