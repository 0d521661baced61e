/** Agents of kind `a2a`: one task of a remote agent an invocation, over A2A 1.0 or 0.3. */
import { Role, TaskState } from '@a2a-js/sdk';
import type { Message, Part, Task } from '@a2a-js/sdk';
import { v5 as uuidv5 } from 'uuid';
import { a2aConfiguration } from '../../contracts/agent-configuration.ts';
import type { A2aConfiguration } from '../../contracts/agent-configuration.ts';
import { Fault, fault } from '../../contracts/fault.ts';
import type { AgentAdapter, AgentCall, AgentResult } from '../../domain/ports.ts';
import { agentCredentials } from '../agent-authentication.ts';
import { parseConfiguration, timeoutOf, withoutSecrets } from '../call-settings.ts';
import type { EgressPolicy } from '../egress.ts';
import { headersOf } from '../http-message.ts';
import type { TokenSource } from '../oauth-token.ts';
import { loadSensitive } from '../sensitive.ts';
import type { Sensitive } from '../sensitive.ts';
import { streamingFetch } from '../streaming-fetch.ts';
import { renderTemplate } from '../templates.ts';
import { chooseInterface, createCardSource } from './agent-card.ts';
import type { CardSource } from './agent-card.ts';
import { authorizedFetch } from './authorized-fetch.ts';
import { followTask } from './follow-task.ts';
import { grpcOrigin, openGrpc } from './grpc-transport.ts';
import type { Settled } from './follow-task.ts';
import { contextOf, outputOfArtifacts, partsOf, valueOf } from './part-values.ts';
import { answerParts, credentialQuestionOf, questionOf } from './question.ts';
import { connectRemote } from './remote-agent.ts';
import type { RemoteAgent } from './remote-agent.ts';
import { OwnFailure, remoteFault, stateFault } from './remote-faults.ts';
import { isAsking, markOf, stateOf } from './task-view.ts';

/** A message's id is made of the idempotency key: a repeat says the same thing again, not another one. */
const NAMESPACE = '5b0c7d0e-3f0a-5c3b-9d55-0c1f7a2be4a1';
const CANCEL_MS = 5_000;
/** Also after the call is cancelled: its task is to be cancelled with credentials as well. */
const CREDENTIALS_MS = 30_000;
/** Longer than the 15 s at which our own streams give a sign of life, and those of most servers. */
const IDLE_MS = 45_000;
/** gRPC has no comments to say that a stream is alive; one that is silent so long is opened again. */
const GRPC_IDLE_MS = 120_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** Timers hold no more. */
const LONGEST_MS = 2 ** 31 - 1 - 2 * CANCEL_MS;

interface Tools {
  egress: EgressPolicy;
  tokens: TokenSource;
}

interface Connected {
  remote: RemoteAgent;
  inputModes: readonly string[];
}

interface Kept {
  task_id: string;
  context_id: string;
}

/**
 * Configuration: `a2aConfiguration`; address: the agent's `url`. Input and output: `part-values.ts`. A task that asks for
 * something comes back as `ask`; the answer goes to it with `reply`. Nothing is sent twice: a repeat follows the task that
 * `progress` remembers, else one that the agent lists for this message, else says the message again under its id.
 */
export function createA2aAdapter(tools: Tools): AgentAdapter {
  const cards = createCardSource();
  return {
    async invoke(call): Promise<AgentResult> {
      const startedAt = performance.now();
      const configuration = parseConfiguration(a2aConfiguration, call.agent.configuration);
      const timeoutMs = Math.min(timeoutOf(configuration.timeout, call.timeoutMs), LONGEST_MS);
      const sensitive = await loadSensitive([configuration, call.agent.url, call.agent.authentication_config], call.secret);
      const deadline = AbortSignal.timeout(timeoutMs);
      try {
        const result = await converse(tools, cards, { ...withOwnFailures(call), timeoutMs }, configuration, sensitive, deadline);
        const clean = sensitive.clean(result);
        // `clean` copies: the shape stays.
        return { ...(clean as AgentResult), usage: { requests: 1, duration_ms: Math.round(performance.now() - startedAt) } };
      } catch (error) {
        if (call.signal.aborted) throw call.signal.reason;
        if (error instanceof OwnFailure) throw error.cause;
        if (deadline.aborted) throw fault('timeout', `${call.agent.name} did not finish within ${timeoutMs} ms`, { cause: error });
        throw withoutSecrets(remoteFault(error, call.agent.name), sensitive);
      }
    },
  };
}

async function converse(tools: Tools, cards: CardSource, call: AgentCall, configuration: A2aConfiguration, sensitive: Sensitive, deadline: AbortSignal): Promise<AgentResult> {
  const signal = AbortSignal.any([call.signal, deadline]);
  const connected = await connect(tools, cards, call, configuration, sensitive, signal);
  try {
    return await converseWith(connected, call, configuration, sensitive, signal);
  } finally {
    connected.remote.close();
  }
}

async function converseWith({ remote, inputModes }: Connected, call: AgentCall, configuration: A2aConfiguration, sensitive: Sensitive, signal: AbortSignal): Promise<AgentResult> {
  const { reply } = call;
  const kept = keptOf(call.progress?.kept);
  const answer = reply ? answerParts(reply) : null;
  if (reply && answer === null) return refuseToAnswer(remote, call, reply.remote.task_id);

  const message = messageOf(call, configuration, answer ?? (await partsOf(call.input, inputModes, call.files)), sensitive);
  let taskId = kept?.task_id ?? reply?.remote.task_id ?? null;
  // Nothing to say: the credential has reached the agent in another way.
  let sent = kept !== null || answer?.length === 0;
  try {
    if (!sent && call.progress?.repeated === true) {
      const found = reply ? await beyondQuestion(remote, reply.remote, signal) : await remote.taskOf(message, signal).catch(() => null);
      sent = found !== null;
      taskId = found?.id ?? taskId;
    }
    const settled = await followTask({
      remote,
      message,
      taskId,
      sent,
      answered: reply?.remote.mark ?? null,
      pollMs: configuration.poll_interval === undefined ? null : timeoutOf(configuration.poll_interval, Number.MAX_SAFE_INTEGER),
      signal,
      async known(task) {
        taskId = task.task_id;
        await call.progress?.keep({ ...task });
      },
    });
    return await resultOf(settled, call);
  } catch (error) {
    if (signal.aborted && (!call.signal.aborted || ((await call.cancelRequested?.()) ?? true))) await cancelQuietly(remote, taskId, message);
    throw error;
  }
}

async function connect(
  tools: Tools,
  cards: CardSource,
  call: AgentCall,
  configuration: A2aConfiguration,
  sensitive: Sensitive,
  signal: AbortSignal,
): Promise<Connected> {
  const { agent, timeoutMs } = call;
  const send = streamingFetch(tools.egress, { timeoutMs: timeoutMs + CANCEL_MS, idleMs: IDLE_MS, maxBytes: MAX_BYTES });
  const headers = headersOf(renderTemplate(configuration.headers, call.input, sensitive, 'headers'));
  const credentials = () => agentCredentials({ agent, timeoutMs, signal: AbortSignal.timeout(CREDENTIALS_MS) }, sensitive, tools.tokens);
  const authorized = authorizedFetch(send, credentials, { headers, redact: sensitive.redact });

  const url = agent.url === null ? null : sensitive.fill(agent.url);
  const cardUrl = configuration.card_url === undefined ? undefined : sensitive.fill(configuration.card_url);
  const card = await cards.card({ url, card_url: cardUrl, reader: `${agent.id} ${agent.version}` }, async (place) => {
    const answer = await orNothing(authorized(place, { headers: { accept: 'application/json', 'a2a-version': '1.0' }, signal }));
    return answer === null ? null : ((await answer.json().catch(() => ({}))) as unknown);
  });
  const chosen = chooseInterface(card, configuration.binding);
  const overTls = (cardUrl ?? url)?.startsWith('https:') === true;
  const origin = chosen.protocolBinding.toUpperCase() === 'GRPC' ? grpcOrigin(chosen.url, overTls) : chosen.url;
  if (overTls && !origin.startsWith('https:')) {
    throw fault('authorization', `The card of ${agent.name} leads from https to an address without TLS, which is not called`);
  }
  const remote = await connectRemote(card, chosen, {
    fetch: authorized,
    grpc: () => openGrpc(origin, { egress: tools.egress, credentials, headers, redact: sensitive.redact, idleMs: GRPC_IDLE_MS, maxBytes: MAX_BYTES }),
    streaming: configuration.streaming !== false && card.capabilities?.streaming === true,
    acceptedOutputModes: configuration.accepted_output_modes ?? [],
    extensions: configuration.extensions ?? [],
  });
  const skill = card.skills?.find(({ id }) => id === call.skill);
  const inputModes = skill?.inputModes !== undefined && skill.inputModes.length > 0 ? skill.inputModes : card.defaultInputModes;
  return { remote, inputModes: inputModes ?? [] };
}

async function orNothing(asked: Promise<Response>): Promise<Response | null> {
  try {
    const answer = await asked;
    return answer.ok ? answer : null;
  } catch (error) {
    if (error instanceof Fault && [404, 405, 410].includes(error.error.status)) return null;
    throw error;
  }
}

function messageOf(call: AgentCall, configuration: A2aConfiguration, parts: Part[], sensitive: Sensitive): Message {
  const metadata = { ...(configuration.metadata === undefined ? {} : (renderTemplate(configuration.metadata, call.input, sensitive, 'metadata') as Record<string, unknown>)), ...(call.skill === undefined ? {} : { skill: call.skill }) };
  return {
    messageId: uuidv5(call.idempotencyKey, NAMESPACE),
    contextId: call.reply?.remote.context_id ?? contextOf(call.input),
    taskId: call.reply?.remote.task_id ?? '',
    role: Role.ROLE_USER,
    parts,
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    extensions: configuration.extensions ?? [],
    referenceTaskIds: [],
  };
}

async function resultOf(settled: Settled, call: AgentCall): Promise<AgentResult> {
  if ('message' in settled) return { output: await valueOf(settled.message.parts, call.files) };
  const { task, view } = settled;
  if (stateOf(task) === TaskState.TASK_STATE_INPUT_REQUIRED) return { output: null, ask: await questionOf(task, call.agent.name) };
  if (stateOf(task) === TaskState.TASK_STATE_AUTH_REQUIRED) return { output: null, ask: credentialQuestionOf(task, call.agent.name) };
  const failure = stateFault(task, call.agent.name);
  if (failure !== null) throw failure;
  if (task.artifacts.length > 0) return { output: await outputOfArtifacts(task.artifacts, view.pieced, call.files) };
  // Agents that answer by their last status, not by an artifact.
  return { output: await valueOf(task.status?.message?.parts ?? [], call.files) };
}

/** Whether the answered task has gone on since: then the answer has arrived. */
async function beyondQuestion(remote: RemoteAgent, { task_id: id, mark }: { task_id: string; mark: string }, signal: AbortSignal): Promise<Task | null> {
  const task = await remote.task(id, signal);
  return !isAsking(task) || markOf(task) !== mark ? task : null;
}

async function refuseToAnswer(remote: RemoteAgent, call: AgentCall, taskId: string): Promise<never> {
  await remote.cancel(taskId, AbortSignal.timeout(CANCEL_MS)).catch(() => undefined);
  const comment = call.reply?.decision?.comment ?? '';
  throw fault('authorization', `The question of ${call.agent.name} was not answered${comment === '' ? '' : `: ${comment}`}; its task was cancelled`);
}

/** Bounded, and never the reason of a failure of its own. */
async function cancelQuietly(remote: RemoteAgent, taskId: string | null, message: Message): Promise<void> {
  const signal = AbortSignal.timeout(CANCEL_MS);
  try {
    const id = taskId ?? (await remote.taskOf(message, signal))?.id;
    if (id !== undefined) await remote.cancel(id, signal);
  } catch {
    // The agent does not hear, or the task has ended.
  }
}

/** What fails on our side is no failure of the agent: it is to be repeated, not to be caught. */
function withOwnFailures(call: AgentCall): AgentCall {
  const { progress, files } = call;
  return {
    ...call,
    ...(progress ? { progress: { ...progress, keep: (value) => own(progress.keep(value)) } } : {}),
    ...(files ? { files: { store: (content, file) => own(files.store(content, file)), read: (id) => own(files.read(id)), open: (id) => own(files.open(id)), link: (id) => own(files.link(id)) } } : {}),
  };
}

async function own<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof Fault ? error : new OwnFailure(error);
  }
}

function keptOf(kept: unknown): Kept | null {
  if (typeof kept !== 'object' || kept === null || !('task_id' in kept) || !('context_id' in kept)) return null;
  const { task_id, context_id } = kept;
  return typeof task_id === 'string' && typeof context_id === 'string' ? { task_id, context_id } : null;
}
