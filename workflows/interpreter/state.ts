/**
 * The interpreter's state: plain JSON, so that it survives continue-as-new and can be stored as a checkpoint.
 * A frame is the position of a task; a runner that finds a started frame continues from there. Frames change
 * only with progress, never by an error that passes through, so a fault leaves the state as it was before
 * unwinding.
 */
import type { RemoteAsk, RemoteReply } from '../../contracts/activities.ts';
import type { ConversationOrigin, ToolAnswer, ToolLoop, ToolRequest } from '../../contracts/tool-loop.ts';
import { workflowUuid } from './ids.ts';
import type { AskedAgain } from '../../contracts/asked-again.ts';
import type { TakenEvent } from '../../contracts/listening.ts';
import type { DslError } from '../../contracts/dsl-error.ts';
import type { ChildDonePayload, WaitingOn } from '../../contracts/run-events.ts';
import type { DecisionPayload } from '../../contracts/hitl.ts';

export const STATE_VERSION = 1;

/** `$context` of the workflow, or of one branch of a fork. */
export interface Scope {
  context: unknown;
}

export interface Frame {
  raw: unknown;
  /** Root frame only: the linked files are in the store and in `raw`. */
  fetched?: true;
  /** `if` has been evaluated to true, in this run or in the one that it retries. */
  entered?: true;
  /** Set when the task has started. */
  started?: { visit: number; at: string; attempt: number; ref?: string };
  /** The transformed input, if `input.from` changed it. */
  input?: { value: unknown };
  /** The task's timeout, in milliseconds since the epoch. */
  deadline?: number;
  list?: ListFrame;
  loop?: { items: unknown[]; index: number; data: unknown; list?: ListFrame };
  fork?: { branches: Branch[]; base: unknown };
  map?: MapFrame;
  attempts?: TryFrame;
  /** For `wait`. */
  until?: number;
  human?: HumanFrame;
  listen?: ListenFrame;
  /** A remote agent's task that has asked for something. */
  remote?: RemoteFrame;
  /** The turns of a language model with tools. */
  chat?: ChatFrame;
  /** A call whose outcome comes from outside. */
  awaited?: AwaitedFrame;
  child?: {
    id: string;
    created: boolean;
    input: unknown;
    waiting_on: WaitingOn[];
    waiting_counter: number;
    /** No task waits for it. */
    detached?: true;
    /** The child that the retried run had created here; it is retried, or its output is reused. */
    retry_of?: string;
    /**
     * For an agent that is a workflow: the workflow, the schema of its output, and the data of the task's
     * completed event.
     */
    agent?: {
      workflow: { id: string; revision: number | null };
      /** Default: those of this run. */
      rights_of?: string;
      output_schema: Record<string, unknown>;
      data: Record<string, unknown>;
    };
  };
  /** For a call of `use.functions`. */
  body?: Frame;
  /** One for each extension that is for this kind of task. */
  extensions?: ExtensionFrame[];
}

export interface ExtensionFrame {
  /** The value of `when`. */
  applies?: boolean;
  before?: ListFrame;
  /** `before` has ended. */
  passed?: true;
  /** What the task itself returned, with the extensions inside this one. */
  outcome?: { output: unknown; then?: string; data?: Record<string, unknown> };
  after?: ListFrame;
}

/** Events that a `listen` task works on, one after the other. */
export interface ListenFrame {
  /** Of the listener's row. */
  id: string;
  opened: boolean;
  /** Nothing comes after the buffer. */
  done: boolean;
  /** There may be more events in the listener's rows. */
  more: boolean;
  /** Number of the last event in the buffer, or that was there. */
  after: number;
  /** Number of the last event whose work is done. */
  worked: number;
  buffer: TakenEvent[];
  /** The event that `foreach` works on, with the position in its tasks. */
  current?: TakenEvent;
  list?: ListFrame;
  output: unknown[];
  /** The listener of the retried run, and the last event that it worked on. */
  resumes?: { id: string; seq: number };
}

export interface HumanFrame {
  id: string;
  /** Milliseconds since the epoch. */
  created_at: number;
  /** How many of its timers have fired. */
  marks: number;
  created: boolean;
}

/** Once `decision` is set, the answer is being sent. */
export interface RemoteFrame {
  /** From 1. */
  round: number;
  /** Rounds that only waited for the question of another run. */
  waited?: number;
  ask: RemoteAsk;
  human: HumanFrame;
  decision?: NonNullable<RemoteReply['decision']>;
}

/** The conversation itself is in the database (docs/llm-agents.md). */
export interface ChatFrame {
  loop: ToolLoop;
  agent: { agent_id: string; agent_version: string };
  /** The loop of the retried run that this one continues. */
  from?: ConversationOrigin;
  /** The turns that the model has ended. */
  turns: number;
  /** What it may use, with what people have granted. */
  allowed: { turns: number; tokens: number | null; cost: number | null; ms: number };
  /** Sums of the usage of turns and tools. */
  usage: Record<string, number>;
  /** Milliseconds that turns and tools took, without waiting for people. */
  spent_ms: number;
  /** The turn that is under way, or that failed. */
  model?: Frame;
  /** How often in a row the model's API was too busy, and when it is called again, in ms. */
  busy?: { count: number; until: number };
  /** Of the last turn. */
  calls?: ToolCall[];
  /** What is wrong with the output of the last turn. */
  repair?: string;
  repaired?: true;
  /** A person is asked whether the loop may go on beyond a limit. */
  limit?: Frame;
}

export interface ToolCall extends ToolRequest {
  frame?: Frame;
  approved?: true;
  answer?: ToolAnswer;
}

export interface AwaitedFrame {
  /** Idempotency key of the invocation. */
  key: string;
  /** When it times out; milliseconds since the epoch. */
  until: number;
  /** The signal has come. */
  done?: true;
  withdraw?: Record<string, unknown>;
}

/** A task list: the index of the next task, and its input. */
export interface ListFrame {
  index: number;
  data: unknown;
  child?: Frame;
}

export interface Branch {
  scope: Scope;
  frame: Frame;
  done?: { output: unknown; end: boolean };
}

/** For `call: map`. */
export interface MapFrame {
  items: unknown[];
  /** The first item that has not begun. */
  next: number;
  /** The items under way, by index. */
  open: Record<number, MapItem>;
  /** One for each item that has begun; null while it is under way. */
  results: unknown[];
  /** An item has ended the workflow. */
  end?: { output: unknown };
}

interface MapItem {
  scope: Scope;
  list: ListFrame;
}

export interface TryFrame {
  attempt: number;
  /** When the first attempt began; ms. */
  since: number;
  /** `$context` at entry; each retry starts with it. */
  context: unknown;
  list?: ListFrame;
  retry_at?: number;
  /** Deadline of this attempt; ms. */
  deadline?: number;
  caught?: { error: DslError; list?: ListFrame };
}

export interface RunState {
  version: typeof STATE_VERSION;
  scope: Scope;
  root: Frame;
  /** How often this run has entered each pointer. */
  visits: Record<string, number>;
  /** Counter of the row's projection. */
  counter: number;
  started_at: string | null;
  deadline?: number;
  suspended: boolean;
  /** Signals that are kept until their branch takes them. */
  decisions: Record<string, DecisionPayload>;
  children: Record<string, ChildDonePayload>;
  /** Ids of the last signals received. */
  seen: string[];
  /** Ids of the last commands: suspend, resume, cancel. */
  commands?: string[];
  /** How many events the run has added so far. */
  added?: number;
  /** The step that passes the limits and budgets of the agent whose call the run is, and whether it has. */
  entry?: Frame;
  entered?: true;
  /** It began with the state of an earlier run. */
  continues?: true;
  /** Decisions of earlier runs that this one relies on, if it is a retry with changes or retries one. */
  asked_again?: (AskedAgain & { human?: HumanFrame })[];
}

export function initialState(input: unknown): RunState {
  return {
    version: STATE_VERSION,
    scope: { context: {} },
    root: { raw: input },
    visits: {},
    counter: 0,
    started_at: null,
    suspended: false,
    decisions: {},
    children: {},
    seen: [],
  };
}

/**
 * The state in which a retry continues a faulted run: same frames, loop positions, context and finished
 * branches. Open human tasks and timers are created again, deadlines restart, and faulted children are
 * retried too.
 */
export function stateForRetry(checkpoint: Checkpoint): RunState {
  const { root, scope, asked_again: again } = clone(checkpoint);
  resetFrame(root);
  for (const decision of again ?? []) delete decision.human;
  return { ...initialState(null), scope, root, continues: true, ...(again && { asked_again: again }) };
}

/** The sandbox of workflow code has no structuredClone. */
function clone<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The state that a faulted run leaves for its retry. */
export type Checkpoint = Pick<RunState, 'version' | 'scope' | 'root' | 'continues' | 'asked_again'>;

export function checkpointOf({ version, scope, root, continues, asked_again: again }: RunState): Checkpoint {
  const more = { ...(continues && { continues }), ...(again && { asked_again: again }) };
  return clone({ version, scope, root, ...more });
}

/** A frame and all frames below it; `open` skips finished branches and failed attempts. */
export function* framesOf(frame: Frame, which: 'all' | 'open' = 'all'): Generator<Frame> {
  yield frame;
  const { list, loop, fork, map, attempts, body, listen, chat, extensions = [] } = frame;
  const branches = (fork?.branches ?? [])
    .filter(({ done }) => which === 'all' || !done)
    .map((branch) => branch.frame);
  const attempt = which === 'open' && attempts?.caught ? undefined : attempts?.list?.child;
  const items = Object.values(map?.open ?? {}).map((item) => item.list.child);
  const steps = [chat?.model, chat?.limit, ...(chat?.calls ?? []).map((call) => call.frame)];
  const around = extensions.flatMap(({ before, after }) => [before?.child, after?.child]);
  const inner = [
    list?.child,
    loop?.list?.child,
    listen?.list?.child,
    attempt,
    attempts?.caught?.list?.child,
    body,
    ...branches,
    ...items,
    ...steps,
    ...around,
  ];
  for (const innerFrame of inner) if (innerFrame) yield* framesOf(innerFrame, which);
}

/** The most tasks that a suspended or resumed event names. */
const NAMED_TASKS = 500;

/** Tasks that have started and not ended, outer ones first. */
export function openTasks(root: Frame): { task: string; visit: number }[] {
  const open: { task: string; visit: number }[] = [];
  for (const { started } of framesOf(root, 'open')) {
    if (started?.ref !== undefined && open.length < NAMED_TASKS)
      open.push({ task: started.ref, visit: started.visit });
  }
  return open;
}

function resetFrame(frame: Frame): void {
  delete frame.deadline;
  delete frame.until;
  delete frame.human;
  delete frame.remote;
  delete frame.awaited;
  if (frame.child) frame.child = childForRetry(frame.child);
  if (frame.listen) frame.listen = listenForRetry(frame.listen);
  if (frame.chat) frame.chat = chatForRetry(frame.chat);
  // The task starts again with a new visit; its input and progress are kept.
  delete frame.started;
  resetList(frame.list);
  resetList(frame.loop?.list);
  for (const branch of frame.fork?.branches ?? []) if (!branch.done) resetFrame(branch.frame);
  for (const item of Object.values(frame.map?.open ?? {})) resetList(item.list);
  if (frame.attempts) {
    delete frame.attempts.retry_at;
    delete frame.attempts.deadline;
    frame.attempts.attempt = 1;
    frame.attempts.since = Date.now();
    resetList(frame.attempts.list);
    resetList(frame.attempts.caught?.list);
  }
  if (frame.body) resetFrame(frame.body);
  for (const { before, after } of frame.extensions ?? []) {
    resetList(before);
    resetList(after);
  }
}

/**
 * What the retried run did not work on was given back when its listener was closed; the new one finds it
 * again. The event that it worked on is kept.
 */
function listenForRetry(listen: ListenFrame): ListenFrame {
  const { id, opened, done, buffer, current, list, output, resumes } = listen;
  resetList(list);
  const isOver = done && buffer.length === 0;
  const before = opened ? { id, seq: current?.seq ?? listen.worked } : resumes;
  return {
    id: workflowUuid(),
    opened: isOver,
    done: isOver,
    more: false,
    after: 0,
    worked: 0,
    buffer: [],
    output,
    ...(current === undefined ? {} : { current }),
    ...(list === undefined ? {} : { list }),
    ...(before === undefined || isOver ? {} : { resumes: before }),
  };
}

/**
 * The retry continues after the last turn that ended. Tools that have answered are not called again, the
 * others are, and people are asked again. A loop that was at a limit gets it once more.
 */
function chatForRetry(chat: ChatFrame): ChatFrame {
  const { model: _model, limit: _limit, busy: _busy, ...kept } = chat;
  const { loop, turns, from } = kept;
  for (const call of kept.calls ?? []) {
    delete call.approved;
    if (call.frame) resetFrame(call.frame);
  }
  return {
    ...kept,
    // Nothing was written to the copy of a loop that failed before its first step.
    from: from && turns === from.turns ? from : { conversation: loop.conversation, turns },
    loop: { ...loop, conversation: workflowUuid() },
    allowed: {
      turns: turns + loop.max_turns,
      tokens: raised(kept.usage['total_tokens'], loop.max_total_tokens),
      cost: raised(kept.usage['cost_usd'], loop.max_cost_usd),
      ms: kept.allowed.ms,
    },
    spent_ms: 0,
  };
}

export function raised(used: number | undefined, by: number | null): number | null {
  return by === null ? null : (used ?? 0) + by;
}

/** A detached child is not created twice. */
function childForRetry(child: NonNullable<Frame['child']>): NonNullable<Frame['child']> {
  if (child.detached && child.created) return child;
  const before = child.created ? child.id : child.retry_of;
  const { input, agent, detached } = child;
  return {
    id: workflowUuid(),
    created: false,
    input,
    waiting_on: [],
    waiting_counter: 0,
    ...(before === undefined ? {} : { retry_of: before }),
    ...(agent === undefined ? {} : { agent }),
    ...(detached === undefined ? {} : { detached }),
  };
}

function resetList(list: ListFrame | undefined): void {
  if (list?.child) resetFrame(list.child);
}
