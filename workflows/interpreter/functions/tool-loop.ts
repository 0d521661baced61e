/**
 * The turns of a language model with tools (docs/llm-agents.md). Each turn and each tool call is a step of
 * its own. The frame changes only when a step has ended, so that a loop can be entered again anywhere.
 */
import type { Invoked, NewHumanTask, RemoteReply } from '../../../contracts/activities.ts';
import { repairRequest, type ModelTurn, type TurnRequest } from '../../../contracts/tool-loop.ts';
import { bestEffort, calling } from '../activities.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { DslFault, fault } from '../fault.ts';
import { runStep } from '../run-task.ts';
import { raised, type ChatFrame } from '../state.ts';
import { answerRemote } from './answer-remote.ts';
import { applied, askPerson, humanFrame } from './ask-person.ts';
import {
  addUsage,
  conversationOf,
  humanTask,
  leftMs,
  stepOf,
  titleName,
  type AgentRequest,
  type CallAgent,
} from './chat.ts';
import { invoke, outcomeOf } from './invoke.ts';
import { runToolCalls } from './tool-calls.ts';

/** Attempts of one turn at an API that is too busy; the pauses double unless it says how long to wait. */
const MAX_BUSY = 6;
const MAX_PAUSE_MS = 60_000;
/** Tools can be language models with tools. */
const MAX_DEPTH = 5;

/** `callAgent` calls the tools that are agents. */
export async function runToolLoop(
  execution: Execution,
  task: Task,
  request: AgentRequest,
  chat: ChatFrame,
  callAgent: CallAgent,
): Promise<Outcome> {
  if ((task.env.toolDepth ?? 0) >= MAX_DEPTH)
    throw fault('runtime', `Language models may be tools of one another ${MAX_DEPTH} deep`, task.ref);
  // Who holds the session that the retried loop had.
  if (chat.from) chat.from = { ...chat.from, task: task.ref, visit: task.visit };
  for (;;) {
    await withinBounds(execution, task, chat, request.timeout_ms);
    if (chat.calls?.some(({ answer }) => !answer)) {
      await runToolCalls(execution, task, request, chat, callAgent);
      await withinBounds(execution, task, chat, request.timeout_ms);
    }
    const result = await nextTurn(execution, task, request, chat);
    if (result) return { output: result.output, data: dataOf(chat) };
  }
}

/** `usage` is the sum of the steps, which are counted themselves. */
function dataOf({ agent, usage }: ChatFrame): Record<string, unknown> {
  return { ...agent, usage, usage_is_sum: true };
}

/** @returns the result with the output; null if the loop goes on */
async function nextTurn(
  execution: Execution,
  task: Task,
  request: AgentRequest,
  chat: ChatFrame,
): Promise<Invoked | null> {
  await pauseWhileBusy(execution, chat);
  const result = await makeTurn(execution, task, request, chat);
  const { turn } = result;
  delete chat.model;
  if (turn.busy) {
    noteBusy(task, chat, turn.busy);
    return null;
  }
  delete chat.busy;
  delete chat.calls;
  delete chat.repair;
  chat.turns++;
  addUsage(chat, result.usage);
  if (turn.requests.length > 0) {
    chat.calls = turn.requests;
    return null;
  }
  if (turn.problem === undefined) return result;
  if (chat.repaired) throw fault('validation', `The model's answer does not fit: ${turn.problem}`, task.ref);
  chat.repaired = true;
  chat.repair = repairRequest(turn.problem);
  return null;
}

type WithTurn = Invoked & { turn: ModelTurn };

/** One call of the model. */
async function makeTurn(
  execution: Execution,
  task: Task,
  request: AgentRequest,
  chat: ChatFrame,
): Promise<WithTurn> {
  chat.model ??= { raw: null };
  const answers = (chat.calls ?? []).flatMap(({ answer }) => answer ?? []);
  const turn = {
    number: chat.turns + 1,
    ...(answers.length > 0 ? { answers } : {}),
    ...(chat.repair === undefined ? {} : { repair: chat.repair }),
  };
  let result: WithTurn | undefined;
  const step = {
    name: `${task.name}: turn ${turn.number}`,
    ref: `${task.ref}/model`,
    type: 'model',
    input: answers.length > 0 ? answers.map(({ name, text }) => ({ name, text })) : null,
  };
  try {
    await runStep(execution, step, chat.model, task.env, async (own) => {
      result = await callModel(execution, own, request, chat, turn);
      if (result.turn.busy) throw new DslFault({ ...result.turn.busy.error, instance: own.ref });
      const { data } = outcomeOf(execution, own, result);
      return { output: shownOf(result), ...(data ? { data } : {}) };
    });
  } catch (error) {
    if (!result?.turn.busy || !(error instanceof DslFault)) throw error;
  }
  if (!result) throw new Error('the turn gave no result');
  return result;
}

async function callModel(
  execution: Execution,
  own: Task,
  request: AgentRequest,
  chat: ChatFrame,
  turn: TurnRequest,
): Promise<WithTurn> {
  const timeoutMs = leftMs(chat);
  const { skill: _skill, session: _session, ...agent } = request;
  const input = {
    ...agent,
    ...stepOf(own),
    input: null,
    timeout_ms: timeoutMs,
    turn: { ...conversationOf(chat), turn },
  };
  // The time for which people are asked whether a budget allows the turn does not count.
  const call = async (more: { round?: number; reply?: RemoteReply } = {}): Promise<Invoked> => {
    const begun = Date.now();
    try {
      return await invoke(execution, own, { input: { ...input, ...more } }, (batch) =>
        calling(timeoutMs, own.name).invokeAgent({ ...input, ...more, batch }),
      );
    } finally {
      chat.spent_ms += Date.now() - begun;
    }
  };
  // Questions of a turn are those of the platform, about a budget.
  const cancel = async (more: { round: number; reply: RemoteReply }): Promise<void> => {
    await invoke(execution, own, { input: { ...input, ...more }, call: false }, (batch) =>
      bestEffort(`${own.name}, cancel`).invokeAgent({ ...input, ...more, batch }),
    );
  };
  const first = own.frame.remote ? null : await call();
  const result = first && !first.ask ? first : await answerRemote(execution, own, first, { call, cancel });
  if (!result.turn) throw new Error('the activity gave no turn');
  return { ...result, turn: result.turn };
}

/** What people see of a turn. */
function shownOf({ output, turn }: WithTurn): unknown {
  if (turn.requests.length === 0) return turn.problem === undefined ? output : { text: turn.text };
  const calls = turn.requests.map(({ name, arguments: given }) => ({ name, arguments: given }));
  return { ...(turn.text === '' ? {} : { text: turn.text }), calls };
}

function noteBusy(task: Task, chat: ChatFrame, busy: NonNullable<ModelTurn['busy']>): void {
  const count = (chat.busy?.count ?? 0) + 1;
  if (count >= MAX_BUSY) throw new DslFault({ ...busy.error, instance: task.ref });
  const pauseMs = Math.min(MAX_PAUSE_MS, Math.max(busy.after_ms, 2 ** count * 500));
  chat.busy = { count, until: Date.now() + pauseMs };
}

async function pauseWhileBusy(execution: Execution, { busy }: ChatFrame): Promise<void> {
  if (!busy) return;
  const ms = busy.until - Date.now();
  if (ms > 0) await execution.until(() => execution.journal.closed, ms);
}

/** What a loop uses up: how people call it, what is used, what is allowed, and what more they can grant. */
interface Limit {
  words: string;
  used: number;
  allowed: number | null;
  grant(): void;
}

function limitsOf({ loop, turns, usage, allowed, spent_ms: spentMs }: ChatFrame, timeoutMs: number): Limit[] {
  return [
    {
      words: 'turns (max_turns)',
      used: turns,
      allowed: allowed.turns,
      grant: () => void (allowed.turns = turns + loop.max_turns),
    },
    {
      words: 'tokens (max_total_tokens)',
      used: usage['total_tokens'] ?? 0,
      allowed: allowed.tokens,
      grant: () => void (allowed.tokens = raised(usage['total_tokens'], loop.max_total_tokens)),
    },
    {
      words: 'US dollars (max_cost_usd)',
      used: usage['cost_usd'] ?? 0,
      allowed: allowed.cost,
      grant: () => void (allowed.cost = raised(usage['cost_usd'], loop.max_cost_usd)),
    },
    {
      words: 'milliseconds (timeout)',
      used: spentMs,
      allowed: allowed.ms,
      grant: () => void (allowed.ms = spentMs + timeoutMs),
    },
  ];
}

/** @throws DslFault at a limit, unless a person lets the loop go on */
async function withinBounds(
  execution: Execution,
  task: Task,
  chat: ChatFrame,
  timeoutMs: number,
): Promise<void> {
  const reached = limitsOf(chat, timeoutMs).find(({ used, allowed }) => allowed !== null && used >= allowed);
  if (!reached) return;
  const { words, used, allowed } = reached;
  const detail = `limit exceeded: the model has used ${used} of ${allowed} ${words}`;
  const isTime = words.startsWith('milliseconds');
  if (chat.loop.on_exceed === 'stop') throw fault(isTime ? 'timeout' : 'runtime', detail, task.ref);
  if (!(await mayGoOn(execution, task, chat, detail)))
    throw fault('runtime', `${detail}, and a person has stopped it`, task.ref);
  reached.grant();
}

async function mayGoOn(execution: Execution, task: Task, chat: ChatFrame, detail: string): Promise<boolean> {
  const frame = (chat.limit ??= { raw: null });
  const step = { name: `${task.name}: go on?`, ref: `${task.ref}/limit`, type: 'human', input: null };
  const { output } = await runStep(execution, step, frame, task.env, async (own) => {
    const human = (frame.human ??= humanFrame());
    const decided = await askPerson(execution, own, human, {
      task: ({ id }) => ({
        ...limitTask(execution, own, chat, detail, id),
        title: `May ${titleName(execution, task)} go on?`,
      }),
      marks: [],
      onExpiry: 'fault',
    });
    applied(execution, own, decided);
    const { task_id: hitl_task_id, decision } = decided;
    return { output: decision, data: { hitl_task_id, decision } };
  });
  delete chat.limit;
  return output === 'continue';
}

function limitTask(
  execution: Execution,
  own: Task,
  { usage, turns }: ChatFrame,
  detail: string,
  id: string,
): NewHumanTask {
  return {
    ...humanTask(execution, own, id),
    description: `${detail}. If it goes on, it may use as much again.`,
    subject: { turns, usage },
    decisions: [
      { id: 'continue', label: 'Go on', requires_comment: false },
      { id: 'reject', label: 'Stop', requires_comment: false },
    ],
  };
}
