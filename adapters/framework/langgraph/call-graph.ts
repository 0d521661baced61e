/**
 * A graph on a LangGraph server: each invocation is a run in a thread of its own. The thread's id follows
 * from the invocation's key, and the run carries that key, so a repeat follows the same run.
 */
import { createHash } from 'node:crypto';
import { Fault, fault } from '../../../contracts/fault.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { isUuid } from '../../../contracts/uuid.ts';
import { withoutEnd } from '../../../contracts/text-end.ts';
import type { AgentCall, AgentResult } from '../../../domain/ports.ts';
import { OwnFailure } from '../../a2a/own-failure.ts';
import { hostOf } from '../../egress/connection-fault.ts';
import { statusFault } from '../../http/message.ts';
import { renderTemplate } from '../../secrets/templates.ts';
import type { FrameworkCall } from '../framework-call.ts';
import { followRun, type Followed } from './follow-run.ts';
import { textOf, type GraphCall } from './graph-call.ts';
import { answerOf, askOfGraph, interruptsIn, type Resumption } from './interrupts.ts';
import { langgraphFetch } from './langgraph-fetch.ts';

/** For telling the server that the run is not needed any more. */
const CANCEL_MS = 2_000;
/** Runs of one thread that are looked through; it has one for each answer. */
const MAX_RUNS = 100;
/** What every run of ours carries. */
const INVOCATION = 'cadenza_invocation';
const MAX_REASON_LENGTH = 1_000;

/**
 * Input: the graph's; a text becomes the message of a user, and then the output is the text of the last
 * message. Else the output is the graph's state. An interrupt asks a person, whose decision resumes the run.
 */
export async function callGraph(prepared: FrameworkCall): Promise<AgentResult> {
  const { egress, call, guard, url, headers } = prepared;
  const { fetch, failure } = langgraphFetch({ egress, base: url, leftMs: () => guard.leftMs() + CANCEL_MS });
  const { Client: GraphClient } = await import('@langchain/langgraph-sdk/client');
  const client = new GraphClient({
    apiUrl: withoutEnd(`${url.origin}${url.pathname}`, '/'),
    // Null: not from the environment.
    apiKey: null as unknown as string,
    defaultHeaders: headers,
    callerOptions: { fetch, maxRetries: 0 },
  });
  const threadId = call.reply?.remote.task_id ?? threadIdOf(call.idempotencyKey);
  const graph: GraphCall = { client, call, guard, host: hostOf(url.href), threadId };
  let runId: string | null = null;
  const remove = (): Promise<void> => removeThread(graph);
  const isKept = prepared.configuration.keep_threads === true;
  try {
    runId = await begun(graph, prepared);
    const followed = await followRun(graph, runId, (error) => failureOf(error, failure(), graph));
    const result = await resultOf(graph, followed);
    // An answer continues the thread. A repeat of the call needs it until the outcome is stored.
    if (!isKept && !result.ask) call.cleanUp?.(remove);
    return result;
  } catch (error) {
    if (guard.signal.aborted && (await mayCancel(call))) {
      await cancelQuietly(graph, runId);
      if (!isKept) await remove();
    } else if (!isKept && error instanceof Fault) call.cleanUp?.(remove);
    throw failureOf(error, failure(), graph);
  }
}

/** The id of the run: that of an earlier attempt, or of a new one. */
async function begun(graph: GraphCall, prepared: FrameworkCall): Promise<string> {
  const { call } = graph;
  const { progress } = call;
  const kept = isRecord(progress?.kept) ? progress.kept['run_id'] : undefined;
  if (typeof kept === 'string') return kept;
  const runId =
    (progress?.repeated === true ? await earlierRun(graph) : null) ?? (await createRun(graph, prepared));
  await progress?.keep({ run_id: runId });
  return runId;
}

async function earlierRun(
  { client, call, guard, threadId }: GraphCall,
  signal = guard.signal,
): Promise<string | null> {
  try {
    const runs = await client.runs.list(threadId, { limit: MAX_RUNS, signal });
    const ours = runs.find(({ metadata }) => isRecord(metadata) && metadata[INVOCATION] === keyOf(call));
    return ours === undefined ? null : idOf(ours.run_id);
  } catch (error) {
    if (isStatus(error, 404)) return null;
    throw error;
  }
}

async function createRun(graph: GraphCall, { configuration, call }: FrameworkCall): Promise<string> {
  const { client, guard, threadId } = graph;
  const { signal, sensitive } = guard;
  const config = renderTemplate(configuration.config, call.input, sensitive, 'config');
  const resumption = call.reply ? await resumptionOf(graph) : { input: inputOf(call.input) };
  if (!call.reply)
    await client.threads.create({
      threadId,
      ifExists: 'do_nothing',
      metadata: { [INVOCATION]: keyOf(call), agent: call.agent.name },
      signal,
    });
  try {
    const run = await client.runs.create(threadId, configuration.assistant_id ?? '', {
      ...resumption,
      ...(isRecord(config) ? { config } : {}),
      metadata: { [INVOCATION]: keyOf(call) },
      streamMode: ['messages-tuple', 'custom'],
      streamResumable: true,
      // Whatever this thread runs already is this call.
      multitaskStrategy: 'reject',
      signal,
    });
    return idOf(run.run_id);
  } catch (error) {
    const earlier = isStatus(error, 409) ? await earlierRun(graph) : null;
    if (earlier !== null) return earlier;
    throw error;
  }
}

/** Throws `Fault` if nobody will answer, or the question is gone. */
async function resumptionOf({ client, call, guard, threadId }: GraphCall): Promise<Resumption> {
  const { reply, agent } = call;
  if (!reply) throw new Error('no reply');
  const { signal } = guard;
  const interrupts = interruptsIn(await client.threads.getState(threadId, undefined, { signal }));
  const interrupt = interrupts.find(({ id }) => id === reply.remote.context_id);
  if (interrupt === undefined)
    throw fault('communication', `${agent.name} does not wait for this answer any more`, { status: 502 });
  return answerOf(reply, interrupt, agent.name);
}

async function resultOf(graph: GraphCall, { run, failure }: Followed): Promise<AgentResult> {
  const { client, call, guard, threadId } = graph;
  const { name } = call.agent;
  const state = await client.threads.getState(threadId, undefined, { signal: guard.signal });
  const said = failure ?? state.tasks?.find(({ error }) => typeof error === 'string')?.error ?? '';
  const reason = guard.sensitive.quote(said, MAX_REASON_LENGTH);
  if (run.status === 'error')
    throw fault('communication', `The graph of ${name} failed${reason === '' ? '' : `: ${reason}`}`, {
      status: 502,
    });
  if (run.status === 'timeout')
    throw fault('timeout', `The graph of ${name} did not end in its server's time`);
  const [interrupt] = interruptsIn(state);
  if (interrupt !== undefined)
    return { output: null, ask: askOfGraph(interrupt, threadId, name, guard.sensitive) };
  if (run.status === 'interrupted')
    throw fault('communication', `The run of ${name} was cancelled on its server`, { status: 502 });
  return { output: typeof call.input === 'string' ? lastText(state.values) : state.values };
}

function inputOf(input: unknown): Record<string, unknown> | null {
  if (typeof input === 'string') return { messages: [{ role: 'user', content: input }] };
  if (input === null || input === undefined) return {};
  if (!isRecord(input)) throw fault('validation', 'A graph takes an object, or a text for its user');
  return input;
}

/** Of the last message, if the graph has messages; else its state. */
function lastText(values: unknown): unknown {
  const messages: unknown[] = isRecord(values) && Array.isArray(values['messages']) ? values['messages'] : [];
  const last = messages.at(-1);
  return isRecord(last) ? textOf(last['content']) : values;
}

/** The same for each repeat of the call. */
function threadIdOf(key: string): string {
  const hash = createHash('sha256').update(`langgraph thread ${key}`).digest('hex');
  const [first, second, node] = [hash.slice(0, 8), hash.slice(8, 12), hash.slice(20, 32)];
  return `${first}-${second}-5${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${node}`;
}

function keyOf({ idempotencyKey }: AgentCall): string {
  return createHash('sha256').update(idempotencyKey).digest('hex');
}

/** It becomes part of addresses. */
function idOf(id: unknown): string {
  if (typeof id === 'string' && isUuid(id)) return id;
  throw fault('communication', 'The server gave the run an id that is no UUID', { status: 502 });
}

/** False if another worker continues the aborted call. At its time limit, no worker does. */
async function mayCancel(call: AgentCall): Promise<boolean> {
  return !call.signal.aborted || ((await call.cancelRequested?.()) ?? true);
}

async function cancelQuietly(graph: GraphCall, runId: string | null): Promise<void> {
  const signal = AbortSignal.timeout(CANCEL_MS);
  try {
    const { client, call, threadId } = graph;
    const id = runId ?? (await earlierRun(graph, signal));
    if (id !== null) await client.runs.cancel(threadId, id, false, 'interrupt', { signal });
    // A run that is just being created has no thread then, and its thread has done nothing else.
    else if (!call.reply) await client.threads.delete(threadId, { signal });
  } catch {
    // The server is unreachable, or the run has ended.
  }
}

/** Best effort: a thread that stays does no harm. */
async function removeThread({ client, threadId }: GraphCall): Promise<void> {
  try {
    await client.threads.delete(threadId, { signal: AbortSignal.timeout(CANCEL_MS) });
  } catch {
    // The server is unreachable, or has no such thread.
  }
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof Error && 'status' in error && error.status === status;
}

/** @param noted the failure of the last request, if it got no answer */
function failureOf(error: unknown, noted: unknown, { guard, host }: GraphCall): unknown {
  if (error instanceof Fault || error instanceof OwnFailure || guard.signal.aborted) return error;
  if (noted !== null) return noted;
  if (error instanceof Error && 'status' in error && typeof error.status === 'number') {
    const text = 'text' in error && typeof error.text === 'string' ? error.text : '';
    const answer = { status: error.status, headers: {}, bytes: Buffer.from(text), url: `http://${host}/` };
    return statusFault(answer, 'POST', guard.sensitive);
  }
  const reason = error instanceof Error ? guard.sensitive.quote(error.message, MAX_REASON_LENGTH) : '';
  return fault('communication', `${host} did not answer as a LangGraph server: ${reason}`, {
    status: 502,
    cause: error,
  });
}
