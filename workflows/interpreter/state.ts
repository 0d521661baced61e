/**
 * The interpreter's state: plain JSON, so that it survives continue-as-new and goes into a checkpoint.
 * A frame is where a task stands. A runner that finds its frame half way carries on from there; frames change
 * only by progress, never by an error that passes through, so a fault leaves the state before unwinding.
 */
import type { RemoteAsk, RemoteReply } from '../../contracts/activities.ts';
import type { DslError } from '../../contracts/dsl-error.ts';
import type { NewRunEvent, WaitingOn } from '../../contracts/run-events.ts';
import type { ChildDonePayload, DecisionPayload } from '../../contracts/temporal.ts';

export const STATE_VERSION = 1;

/** `$context` of the workflow, or of one branch of a fork. */
export interface Scope {
  context: unknown;
}

export interface Frame {
  raw: unknown;
  /** Of the root: the files that the input linked are in the store, and in `raw`. */
  fetched?: true;
  /** `if` has been passed, in this run or in the one that it retries. */
  entered?: true;
  /** Set when the task has started. */
  started?: { visit: number; at: string; attempt: number };
  /** Transformed input, where `input.from` made another than `raw`. */
  input?: { value: unknown };
  /** Milliseconds since the epoch, of the task's timeout. */
  deadline?: number;
  list?: ListFrame;
  loop?: { items: unknown[]; index: number; data: unknown; list?: ListFrame };
  fork?: { branches: Branch[]; base: unknown };
  attempts?: TryFrame;
  /** Of `wait`. */
  until?: number;
  human?: HumanFrame;
  /** An agent's task elsewhere that has asked for something. */
  remote?: RemoteFrame;
  child?: {
    id: string;
    created: boolean;
    input: unknown;
    waiting_on: WaitingOn[];
    waiting_counter: number;
    /** Of an agent that is a workflow: what its output has to fit, and what the task's end tells. */
    agent?: { output_schema: Record<string, unknown>; data: Record<string, unknown> };
  };
  /** Of a call of `use.functions`. */
  body?: Frame;
}

export interface HumanFrame {
  id: string;
  /** Milliseconds since the epoch. */
  created_at: number;
  /** How many of its moments have passed. */
  marks: number;
  created: boolean;
}

/** Once `decision` is there, the answer is on its way. */
export interface RemoteFrame {
  /** From 1. */
  round: number;
  ask: RemoteAsk;
  human: HumanFrame;
  decision?: NonNullable<RemoteReply['decision']>;
}

/** A task list: which task is next, and the data that goes into it. */
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

export interface TryFrame {
  attempt: number;
  /** When the first attempt began; ms. */
  since: number;
  /** `$context` at entry: each retry starts with it. */
  context: unknown;
  list?: ListFrame;
  retry_at?: number;
  /** Of this attempt; ms. */
  deadline?: number;
  caught?: { error: DslError; list?: ListFrame };
}

export interface RunState {
  version: typeof STATE_VERSION;
  scope: Scope;
  root: Frame;
  /** Entries of each pointer in this run. */
  visits: Record<string, number>;
  /** Of the row's projection. */
  counter: number;
  started_at: string | null;
  deadline?: number;
  suspended: boolean;
  /** Signals that are kept until their branch takes them. */
  decisions: Record<string, DecisionPayload>;
  children: Record<string, ChildDonePayload>;
  /** Ids of the last signals taken in. */
  seen: string[];
  /** Events not yet known to be written. */
  events: NewRunEvent[];
  acks: string[];
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
    events: [],
    acks: [],
  };
}

/**
 * The state in which a new run re-enters what a faulted one left: same frames, loop positions, context and finished
 * branches; open human tasks, timers and children are made anew, deadlines restart.
 */
export function stateForRetry(checkpoint: Checkpoint): RunState {
  const root = clone(checkpoint.root);
  resetFrame(root);
  return { ...initialState(null), scope: clone(checkpoint.scope), root };
}

/** The sandbox of workflow code has no structuredClone. */
function clone<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** What a faulted run leaves for its retry. */
export type Checkpoint = Pick<RunState, 'version' | 'scope' | 'root'>;

export function checkpointOf(state: RunState): Checkpoint {
  return clone({ version: state.version, scope: state.scope, root: state.root });
}

/** A frame and all below it. */
export function* framesOf(frame: Frame): Generator<Frame> {
  yield frame;
  const { list, loop, fork, attempts, body } = frame;
  const inner = [list?.child, loop?.list?.child, attempts?.list?.child, attempts?.caught?.list?.child, body, ...(fork?.branches ?? []).map((branch) => branch.frame)];
  for (const each of inner) if (each) yield* framesOf(each);
}

function resetFrame(frame: Frame): void {
  delete frame.deadline;
  delete frame.until;
  delete frame.human;
  delete frame.remote;
  delete frame.child;
  // Started again: a new visit of its own. What it holds of input and progress stays.
  delete frame.started;
  resetList(frame.list);
  resetList(frame.loop?.list);
  for (const branch of frame.fork?.branches ?? []) if (!branch.done) resetFrame(branch.frame);
  if (frame.attempts) {
    delete frame.attempts.retry_at;
    delete frame.attempts.deadline;
    frame.attempts.attempt = 1;
    resetList(frame.attempts.list);
    resetList(frame.attempts.caught?.list);
  }
  if (frame.body) resetFrame(frame.body);
}

function resetList(list: ListFrame | undefined): void {
  if (list?.child) resetFrame(list.child);
}
