/** `POST /v1/chat/completions`: a run of an agent, whose output is the answer. */
import type { Context } from 'koa';
import { v7 as uuidv7 } from 'uuid';

import { agentKind } from '../../contracts/agent-configuration.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import type { FileReference, PinnedAgent } from '../../domain/ports.ts';
import { getAgent } from '../../domain/registry/agent-service.ts';
import { findAnsweringCall, isOfCall } from '../../domain/runs/answering-call.ts';
import { callingRunByHeader } from '../../domain/runs/calling-run.ts';
import { invokeAgent } from '../../domain/runs/invoke.ts';
import { runLimits } from '../../domain/runs/limits.ts';
import type { ProtocolCall } from '../../domain/runs/protocol-calls.ts';
import { getRun } from '../../domain/runs/queries.ts';
import type { RunRow } from '../../domain/runs/row.ts';
import { readWorkflowInputSchema } from '../../domain/runs/runnable.ts';
import { originOf } from '../audit-trail.ts';
import type { AppDeps } from '../deps.ts';
import { toAppError } from '../middleware/errors.ts';
import { followRun, Nudges, type FollowEnd } from '../protocol-calls/follow-run.ts';
import { GrowingText, piecesOf } from '../protocol-calls/growing-text.ts';
import { cancelLeftRun, startProtocolCall } from '../protocol-calls/start-run.ts';
import { openEventStream } from '../streams/event-stream.ts';
import { cutUnread } from '../streams/follow.ts';
import { openerOf, type LiveSession } from '../streams/live-sessions.ts';
import { receiveChatFiles } from './chat-files.ts';
import { agentInput, finishReason, outputText, textMessages } from './conversation.ts';
import { badParameter, failureOf, openAiError, sendOpenAiError } from './errors.ts';
import { chats, findModel } from './models.ts';
import type { ChatRequest } from './request.ts';

/** A token is valid as long. Later the run goes on, and its id leads to it. */
const MAX_WAIT_MS = 15 * 60_000;
/** The run has begun, so trying again would begin another. */
const NO_RETRY = { 'x-should-retry': 'false' };

interface Chat {
  ctx: Context;
  deps: AppDeps;
  actor: Actor;
  request: ChatRequest;
  callId: string;
  runId: string;
  /** Seconds since 1970. */
  created: number;
  /** See `findAnsweringCall`. */
  answering: string | null;
  isWorkflow: boolean;
  session: LiveSession;
  gone: AbortSignal;
  /** Call when the run needs no cancelling any more. */
  settle(): void;
}

/** By which a client repeats a request: both null if it cannot. */
type Repeat = Pick<ProtocolCall, 'idempotency_key' | 'request_digest'>;

export async function answerChat(
  ctx: Context,
  deps: AppDeps,
  request: ChatRequest,
  repeat: Repeat,
): Promise<void> {
  const actor: Actor = ctx.state['actor'];
  const em = deps.orm.em.fork();
  const { pinned } = await findModel(em, actor, request.model);
  if (!chats(pinned))
    throw badParameter('model', `The agent ${pinned.name} cannot answer with text.`, 'unsupported_model');
  const session = await deps.sessions.openStream(openerOf(ctx));
  try {
    const callId = uuidv7();
    const runId = await startChat(ctx, deps, request, { ...repeat, id: callId, pinned });
    ctx.set('X-Run-Id', runId);
    const created = Math.floor(Date.now() / 1_000);
    const answering = request.stream ? await findAnsweringCall(em, runId) : null;
    const isWorkflow = agentKind(pinned) === 'workflow';
    const chat = { ctx, deps, actor, request, callId, runId, created, answering, isWorkflow, session };
    const watched = { ...chat, ...cancelOnLeave(chat) };
    if (request.stream) {
      answerStream(watched);
      return;
    }
    await answerWhole(watched).catch((error: unknown) => {
      // The client has not left: the run goes on, as when it takes too long.
      watched.settle();
      ctx.set(NO_RETRY);
      throw error;
    });
    session.close();
  } catch (error) {
    session.close();
    throw error;
  }
}

async function startChat(
  ctx: Context,
  deps: AppDeps,
  request: ChatRequest,
  { pinned, ...call }: Repeat & { id: string; pinned: PinnedAgent },
): Promise<string> {
  const actor: Actor = ctx.state['actor'];
  const messages = textMessages(request.messages);
  const text = messages.findLast(({ role }) => role === 'user')?.content;
  if (text === undefined) throw badParameter('messages', 'There must be a message of the role user.');
  const em = deps.orm.em.fork();
  const schema = agentKind(pinned) === 'workflow' ? await readWorkflowInputSchema(em, pinned) : null;
  const files = await receiveChatFiles({ store: deps.files, em, actor, limits: deps.env }, request.messages);
  let isKept = false;
  try {
    checkFiles(pinned, files.references);
    const input = agentInput(pinned, { messages, text, files: files.references }, schema);
    if (input === null)
      throw badParameter('model', "The agent's input schema has no place for a text.", 'unsupported_model');
    const note = { ...call, protocol: 'openai' as const, user_id: actor.id };
    const ids = { session_id: null, request_id: null, progress_token: null };
    const noted = { ...note, ...ids };
    return await startProtocolCall(deps, originOf(ctx, 'openai'), noted, async (tx) => {
      const caller_run_id = await callingRunByHeader(tx, ctx.get('Idempotency-Key'));
      const limits = runLimits(deps.env);
      const agent = await getAgent(tx, actor, pinned.id);
      const { stream: streams } = request;
      const id = await invokeAgent(tx, actor, agent, { input: () => input, caller_run_id, streams, limits });
      await files.keep(tx, id);
      isKept = true;
      return id;
    }).catch((error: unknown) => {
      isKept = false;
      throw error;
    });
  } finally {
    if (!isKept) await files.discard();
  }
}

/** @throws 422, as `badParameter`, before a run that could only fail */
function checkFiles(agent: PinnedAgent, files: readonly FileReference[]): void {
  const kind = agentKind(agent);
  if (kind === 'llm' && files.some(({ file_id: id }) => id === undefined))
    throw badParameter('messages', 'This agent takes images as data URLs only: data:image/png;base64,…');
  if (kind === 'vision' && files.length === 0)
    throw badParameter('messages', 'This agent looks at images: send one as image_url.', 'missing_file');
  if (kind === 'audio' && files.length === 0)
    throw badParameter('messages', 'This agent transcribes: send input_audio.', 'missing_file');
}

/** Closing the connection cancels the run, unless the client has repeated the request. */
function cancelOnLeave({
  ctx,
  deps,
  actor,
  callId,
  runId,
}: Pick<Chat, 'ctx' | 'deps' | 'actor' | 'callId' | 'runId'>): Pick<Chat, 'gone' | 'settle'> {
  const origin = originOf(ctx, 'openai');
  const left = new AbortController();
  let isSettled = false;
  const leave = (): void => {
    left.abort();
    if (isSettled || deps.isStopping()) return;
    cancelLeftRun(deps, { actor, origin }, { id: callId, run_id: runId }).catch((error: unknown) =>
      deps.logger.error({ err: error, run_id: runId }, 'cannot cancel the run of a closed connection'),
    );
  };
  if (ctx.res.closed || ctx.res.destroyed) leave();
  else ctx.res.once('close', leave);
  return {
    gone: left.signal,
    settle() {
      isSettled = true;
    },
  };
}

async function answerWhole(chat: Chat): Promise<void> {
  const { ctx, deps, runId } = chat;
  const following = followRun(chat, { runId, after: 0, untilMs: performance.now() + MAX_WAIT_MS });
  let end: FollowEnd | undefined;
  while (end === undefined) {
    const next = await following.next();
    if (next.done) end = next.value;
  }
  if (end === 'gone') return;
  chat.settle();
  if (end !== 'ended') {
    sendOpenAiError(ctx, unfinished(runId, end), NO_RETRY);
    return;
  }
  const run = await getRun(deps.orm.em.fork(), chat.session.actor, runId);
  if (run.status !== 'completed') {
    sendOpenAiError(ctx, failureOf(run), NO_RETRY);
    return;
  }
  ctx.status = 200;
  ctx.set('Content-Type', 'application/json');
  ctx.body = JSON.stringify({
    id: completionId(runId),
    object: 'chat.completion',
    created: chat.created,
    model: chat.request.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: outputText(run.output), refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: finishReason(run.output),
      },
    ],
    usage: usageOf(run),
  });
}

function unfinished(runId: string, end: FollowEnd): Parameters<typeof sendOpenAiError>[1] {
  const late = end === 'late';
  const message = late
    ? `The run ${runId} takes longer than this API waits, and goes on.`
    : `The server is being restarted. The run ${runId} goes on.`;
  const code = late ? 'run_unfinished' : 'server_restarting';
  return { status: late ? 504 : 503, error: { message, type: 'server_error', param: null, code } };
}

function answerStream(chat: Chat): void {
  const { ctx, session } = chat;
  cutUnread(ctx, session);
  ctx.res.once('close', () => session.close());
  openEventStream(ctx, guarded(chat, blocks(chat)));
}

/** Errors after the first bytes become an event, as OpenAI's clients expect. */
async function* guarded(chat: Chat, source: AsyncGenerator<string>): AsyncGenerator<string> {
  try {
    yield* source;
  } catch (error) {
    chat.settle();
    const known = toAppError(error);
    if (known !== null && known.kind !== 'unavailable') {
      yield dataBlock({ error: openAiError(chat.ctx, known).error });
      return;
    }
    chat.deps.logger.warn({ err: error, run_id: chat.runId }, 'a stream of a chat broke');
    const message = `The stream broke. The run is ${chat.runId}.`;
    yield dataBlock({ error: { message, type: 'server_error', param: null, code: 'stream_broken' } });
  }
}

async function* blocks(chat: Chat): AsyncGenerator<string> {
  const { deps, runId, answering, isWorkflow } = chat;
  const nudges = new Nudges();
  const feed = deps.partialFeeds.join(runId, () => nudges.give());
  const growing = new GrowingText();
  // What other steps write is no part of the answer; chat programs show it like a model's thoughts.
  const thoughts = new GrowingText();
  const chunk = chunkOf(chat);
  try {
    yield chunk({ role: 'assistant', content: '' }, null);
    const following = followRun(chat, { runId, after: 0, untilMs: performance.now() + MAX_WAIT_MS, nudges });
    let end: FollowEnd | undefined;
    let inside = false;
    while (end === undefined) {
      const next = await following.next();
      if (!next.done) inside = next.value.inside;
      const pieces = piecesOf(feed.take());
      for (const piece of pieces) {
        const isAnswer = isOfCall(answering, piece.task);
        if (!isAnswer && !(isWorkflow && inside)) continue;
        const text = (isAnswer ? growing : thoughts).add(piece);
        if (text !== '') yield chunk(isAnswer ? { content: text } : { reasoning_content: text }, null);
      }
      if (next.done) end = next.value;
      // Also shows proxies and clients that the connection lives.
      else if (pieces.length === 0 || next.value.events.length > 0)
        yield commentOf(next.value.events.map(({ message }) => message));
    }
    if (end === 'gone') return;
    chat.settle();
    if (end !== 'ended') {
      yield dataBlock({ error: unfinished(runId, end).error });
      return;
    }
    const run = await getRun(deps.orm.em.fork(), chat.session.actor, runId);
    if (run.status !== 'completed') {
      yield dataBlock({ error: failureOf(run).error });
      return;
    }
    const rest = growing.rest(outputText(run.output));
    if (rest !== '') yield chunk({ content: rest }, null);
    yield chunk({}, finishReason(run.output));
    if (chat.request.includeUsage) yield usageChunk(chat, run);
    yield 'data: [DONE]\n\n';
  } finally {
    feed.close();
  }
}

/** What the run does, such as asking a person, for those who look at the connection. */
function commentOf(messages: readonly string[]): string {
  const lines = messages.slice(-20).map((message) => message.replaceAll(/\s+/g, ' ').slice(0, 300));
  return `${(lines.length > 0 ? lines : ['keep-alive']).map((line) => `: ${line}`).join('\n')}\n\n`;
}

function chunkOf({ runId, created, request }: Chat): (delta: object, reason: string | null) => string {
  return (delta, finish_reason) =>
    dataBlock({
      id: completionId(runId),
      object: 'chat.completion.chunk',
      created,
      model: request.model,
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      ...(request.includeUsage ? { usage: null } : {}),
    });
}

function usageChunk({ runId, created, request }: Chat, run: RunRow): string {
  return dataBlock({
    id: completionId(runId),
    object: 'chat.completion.chunk',
    created,
    model: request.model,
    choices: [],
    usage: usageOf(run),
  });
}

function dataBlock(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function completionId(runId: string): string {
  return `chatcmpl-${runId}`;
}

/** Of all calls of the run together. */
function usageOf({ usage }: Pick<RunRow, 'usage'>): Record<string, number> {
  const number = (name: string): number => (typeof usage[name] === 'number' ? usage[name] : 0);
  const [input, output] = [number('input_tokens'), number('output_tokens')];
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: number('total_tokens') || input + output,
  };
}
