/** What all task runners share: the definition, the state, the journal, and what the run waits for. */
import { condition, workflowInfo } from '@temporalio/workflow';
import { Steps } from '../../language/definition/steps.ts';
import type { Definition, FlowDirective, Task as TaskDefinition } from '../../language/definition/model.ts';
import {
  EVENT,
  qualifiedName,
  type EventBatch,
  type EventLevel,
  type NewRunEvent,
  type WaitingOn,
} from '../../contracts/run-events.ts';
import type { DecisionPayload } from '../../contracts/hitl.ts';
import type { RunStart, ShortCallRules } from '../../contracts/temporal.ts';
import type { At, Variables } from './data-flow.ts';
import { yielded } from './effort.ts';
import { throwIfCancelled } from './cancellation.ts';
import { extensionsIn, type ListedExtension } from './extensions.ts';
import { limitFault, RunClosed } from './fault.ts';
import { Journal, type Status } from './journal.ts';
import { ShortCalls } from './short-calls.ts';
import { framesOf, type AwaitedFrame, type Frame, type RunState, type Scope } from './state.ts';
import { Strand } from './strand.ts';

/** Of decisions of unknown tasks. */
const MAX_UNASKED = 100;

export const RUNTIME = { name: 'cadenza', version: '0.1.0', metadata: {} };

/**
 * From this history length on, no branch starts an activity until the run has continued in a new execution.
 */
const FORCED_EVENTS = 30_000;
/** The same limit for the history's size. Temporal terminates an execution at 50 MiB or 51,200 events. */
const FORCED_BYTES = 16 * 1024 * 1024;

/** The most waits that are listed; the count covers all. */
const MAX_WAITS = 100;
const MAX_WAKES = 1_000;

export interface Task {
  name: string;
  ref: string;
  frame: Frame;
  visit: number;
  /** DSL retry attempt of the nearest `try`. */
  attempt: number;
  env: Env;
  /** `input.from` if it reads `$secrets`: the activity of the call evaluates it. */
  secretInput?: string | Record<string, unknown>;
}

/** A task's environment: the holder of `$context`, and the variables of loops and catches. */
export interface Env {
  scope: Scope;
  variables: Variables;
  attempt: number;
  strand: Strand;
  /** The items of `call: map` around the task, outermost first; `ref` is the map's. */
  items?: readonly { ref: string; index: number }[];
  /** How many loops of language models are around the task, as tools of one another. */
  toolDepth?: number;
  /** In tasks of an extension: `$task`, which describes the extended task. */
  extended?: Record<string, unknown>;
}

/** What the runner of a task kind returns: raw output, and the next task if the task itself chooses it. */
export interface Outcome {
  output: unknown;
  then?: FlowDirective;
  /** For the completed event: agent, usage, child run, decision. */
  data?: Record<string, unknown>;
  /** What a child run has used, which its own record counts. */
  childUsage?: Record<string, number>;
}

export type RunKind = (
  execution: Execution,
  definition: TaskDefinition,
  task: Task,
  input: unknown,
  at: At,
) => Outcome | Promise<Outcome>;

/** Null: the call has to be an ordinary one. */
type ShortCallRunner = (...call: Parameters<RunKind>) => Promise<Outcome | null> | null;

/** Runs a task's own work with the tasks of its extensions around it. */
type ExtendedRunner = (
  execution: Execution,
  extended: { extensions: readonly ListedExtension[]; definition: TaskDefinition },
  task: Task,
  input: unknown,
  at: At,
  work: () => Promise<Outcome>,
) => Promise<Outcome>;

export interface ExecutionPorts {
  append(batch: EventBatch): Promise<{ closed: boolean }>;
  /** Shows the status to people in Temporal UI. */
  shown(status: Status): void;
  /** The run's URL. */
  url?: string | undefined;
  /** How many events the run may add to its log, over all its executions. */
  maxEvents: number;
  /**
   * Runs a task of any kind. Passed in, because kinds run task lists, which run tasks again: importing it
   * would be circular.
   */
  runKind: RunKind;
  runExtended: ExtendedRunner;
  shortCall: ShortCallRunner;
  /** Absent: the run makes no short calls. */
  shortCallRules?: ShortCallRules | undefined;
  /** The task queue of processes that need a container engine; absent: the run's own. */
  processQueue?: string | undefined;
}

export class Execution {
  readonly runKind: RunKind;
  readonly runExtended: ExtendedRunner;
  readonly shortCall: ShortCallRunner;
  readonly shortCalls: ShortCalls;
  readonly start: RunStart;
  /** The source of emitted events that name none. */
  readonly url: string;
  readonly maxEvents: number;
  readonly processQueue: string | undefined;
  readonly definition: Definition;
  readonly extensions: readonly ListedExtension[];
  readonly state: RunState;
  readonly journal: Journal;
  /** Children that a branch waits for, by run id; `child.waiting` signals are stored there. */
  readonly children = new Map<string, NonNullable<Frame['child']>>();
  /** Tasks that listen, by the id of their listener; events for others are dropped. */
  readonly listening = new Map<string, NonNullable<Frame['listen']>>();
  /** Human tasks that a branch waits for, by id; decisions of others are dropped. */
  readonly asked = new Set<string>();
  /**
   * Decisions of tasks that this run does not know: while a task is being created, it may turn out to be one
   * of these (`AskedBefore`). The newest only.
   */
  readonly unasked = new Map<string, DecisionPayload>();
  /**
   * Calls under way, by the key of their invocation; null until it is known that the outcome comes from
   * outside. The signal may come before that.
   */
  readonly awaited = new Map<string, AwaitedFrame | null>();
  /** Outcomes that came before the call said that it awaits them. */
  readonly early = new Set<string>();
  /** Signals for calls that do not wait for them yet, such as until another run's question is answered. */
  readonly #wakes = new Set<string>();
  readonly strand = new Strand();
  #strands = 1;
  /** Branches whose condition has become true and that have not continued yet. */
  #moving = 0;
  #frozen = false;
  #renewing = false;
  #yielding: Promise<void> | null = null;
  #steps: Steps | undefined;
  readonly #waits = new Map<string, WaitingOn[]>();

  constructor(start: RunStart, state: RunState, ports: ExecutionPorts) {
    this.runKind = ports.runKind;
    this.runExtended = ports.runExtended;
    this.shortCall = ports.shortCall;
    this.shortCalls = new ShortCalls({
      rules: ports.shortCallRules,
      definition: start.definition,
      agents: start.short_agents ?? [],
    });
    this.start = start;
    this.maxEvents = ports.maxEvents;
    this.processQueue = ports.processQueue;
    this.url = ports.url ?? `/runs/${start.run_id}`;
    // The assertion holds: the definition was validated when the run was created.
    this.definition = start.definition as Definition;
    this.extensions = extensionsIn(this.definition);
    this.state = state;
    // Signals can arrive before the branches have returned to their places.
    const entry = state.entry ? framesOf(state.entry) : [];
    for (const { child, human, remote, listen, awaited } of [...framesOf(state.root), ...entry]) {
      if (awaited) this.awaited.set(awaited.key, awaited);
      if (listen) this.listening.set(listen.id, listen);
      if (child) this.children.set(child.id, child);
      for (const question of [human, remote?.human]) if (question) this.asked.add(question.id);
    }
    for (const { human } of state.asked_again ?? []) if (human) this.asked.add(human.id);
    this.journal = new Journal(state, {
      append: (batch) => ports.append(batch),
      status: (asIf) => this.status(asIf),
      shown: (status) => ports.shown(status),
      mayCall: () => !this.mustContinueAsNew,
    });
  }

  /**
   * Called before each task: handles cancellation, suspension, backlog, and the transition to a new
   * execution. Returns undefined if nothing is to be awaited, because each promise slows a step down. @throws
   * CancelledFailure if the task's scope is cancelled, which also stops loops of tasks that never wait
   */
  gate(): Promise<void> | undefined {
    throwIfCancelled();
    if (this.state.suspended || this.wantsContinueAsNew || !this.journal.hasRoom || this.journal.closed)
      return this.#gate();
    return undefined;
  }

  async #gate(): Promise<void> {
    for (;;) {
      throwIfCancelled();
      if (this.journal.closed) throw new RunClosed();
      if (this.state.suspended) await this.until(() => !this.state.suspended || this.journal.closed);
      else if (!this.journal.hasRoom) await this.journal.makeRoom();
      else if (this.mustContinueAsNew || (this.wantsContinueAsNew && this.journal.inFlight === 0)) {
        await condition(() => this.journal.closed);
      } else return;
    }
  }

  /** @throws RunLimitFault if the run has added as many events to its log as it may */
  checkEventLimit(ref: string): void {
    if (this.journal.added < this.maxEvents) return;
    throw limitFault(
      `the run has added ${this.journal.added} events to its log, and may add ${this.maxEvents}`,
      ref,
    );
  }

  /**
   * Yields until the next workflow task. Call it while `mustYield`, and check again afterwards, directly
   * before computing, because branches wake together.
   */
  async yieldTask(): Promise<void> {
    this.#yielding ??= this.journal.pause().finally(() => {
      this.#yielding = null;
      yielded();
    });
    await this.#yielding;
  }

  /** Waits for a condition; with `timeoutMs`, returns false if it did not become true in time. */
  async until(ready: () => boolean, timeoutMs?: number): Promise<boolean> {
    const moves = (): boolean => {
      if (this.#frozen || !ready()) return false;
      this.#moving++;
      return true;
    };
    if (timeoutMs === undefined) await condition(moves);
    else if (!(await condition(moves, timeoutMs))) return false;
    this.#moving--;
    return true;
  }

  noteUnasked(decision: DecisionPayload): void {
    this.unasked.set(decision.task_id, decision);
    const [oldest] = this.unasked.keys();
    if (this.unasked.size > MAX_UNASKED && oldest !== undefined) this.unasked.delete(oldest);
  }

  noteWake(key: string): void {
    this.#wakes.add(key);
    const [oldest] = this.#wakes;
    if (this.#wakes.size > MAX_WAKES && oldest !== undefined) this.#wakes.delete(oldest);
  }

  /** Whether a signal for the call has come before its wait. */
  takeWake(key: string): boolean {
    return this.#wakes.delete(key);
  }

  /**
   * Waits until a new execution is wanted and nothing is active: no activity, nothing unwritten, every branch
   * at a point from which its frame can be re-entered. From then on no branch continues.
   */
  async quietForContinueAsNew(): Promise<void> {
    await condition(() => {
      if (!this.wantsContinueAsNew || this.#moving > 0 || !this.journal.idle || this.journal.closed)
        return false;
      this.#frozen = true;
      return true;
    });
  }

  get wantsContinueAsNew(): boolean {
    return this.#renewing || workflowInfo().continueAsNewSuggested || this.mustContinueAsNew;
  }

  /**
   * Requests a new execution at the next quiet moment, so that its history is encrypted with the current key.
   */
  renew(): void {
    this.#renewing = true;
  }

  /** Whether nothing more may start in this execution. */
  get mustContinueAsNew(): boolean {
    const { historyLength, historySize } = workflowInfo();
    return historyLength >= FORCED_EVENTS || historySize >= FORCED_BYTES;
  }

  get steps(): Steps {
    return (this.#steps ??= new Steps(this.definition));
  }

  /** One strand becomes several (a fork's branches), or one of them ends (−1). */
  strands(change: number): void {
    this.#strands += change;
  }

  /** Whether the task's call may be short: it is alone in this run, and nothing of it is under way. */
  mayCallShortly({ env, frame }: Task): boolean {
    if (env.strand !== this.strand || this.#strands !== 1 || frame.child || frame.remote || frame.awaited)
      return false;
    return this.shortCalls.mayBegin(this.state.deadline);
  }

  /** Call when the task continues after an ordinary activity or a timer. */
  recorded({ env }: Pick<Task, 'env'>): void {
    // Other branches may have read the clock in this workflow task.
    if (env.strand === this.strand) this.shortCalls.recorded();
  }

  /**
   * While `wait` runs, `waiting_on` lists the task, and the run counts as waiting if all other strands wait
   * too.
   */
  async waiting<T>(task: Task, on: WaitingOn[], wait: () => Promise<T>): Promise<T> {
    const key = `${task.ref}#${task.visit}`;
    this.#waits.set(key, on);
    try {
      return await wait();
    } finally {
      this.#waits.delete(key);
    }
  }

  status(asIf?: WaitingOn): Status {
    const waits = [...this.#waits.values()].filter((on) => on.length > 0);
    if (asIf) waits.push([asIf]);
    const all = waits.length > 0 && waits.length >= this.#strands;
    const status = this.state.suspended ? 'suspended' : all ? 'waiting' : 'running';
    const first: WaitingOn[] = [];
    for (const on of waits)
      if (first.length < MAX_WAITS) first.push(...on.slice(0, MAX_WAITS - first.length));
    return { status, waiting_on: first, waiting_count: waits.reduce((sum, on) => sum + on.length, 0) };
  }

  event(
    type: string,
    kind: string,
    message: string,
    more: { level?: EventLevel; data?: Record<string, unknown> } = {},
  ): NewRunEvent {
    return this.#event(`run:${kind}`, type, null, message, more);
  }

  taskEvent(
    task: Pick<Task, 'ref' | 'visit' | 'env'>,
    type: string,
    kind: string,
    message: string,
    more: { level?: EventLevel; data?: Record<string, unknown> } = {},
  ): NewRunEvent {
    const items = task.env.items?.map(({ index }) => index);
    const data = {
      workflow: this.qualifiedName,
      task: task.ref,
      visit: task.visit,
      ...(items && { items }),
      ...more.data,
    };
    const event = this.#event(`${task.ref}#${task.visit}:${kind}`, type, task.ref, message, {
      ...more,
      data,
    });
    return this.journal.assign(event, task.env.strand);
  }

  get qualifiedName(): string {
    return qualifiedName(this.definition.document, this.start.run_id);
  }

  #event(
    key: string,
    type: string,
    task: string | null,
    message: string,
    more: { level?: EventLevel; data?: Record<string, unknown> },
  ): NewRunEvent {
    return {
      key,
      type,
      at: new Date().toISOString(),
      level: more.level ?? 'info',
      task,
      message,
      data: more.data ?? {},
    };
  }

  /** The visit's number: how often this run has entered the pointer, including this time. */
  enter(ref: string): number {
    const visit = (Object.hasOwn(this.state.visits, ref) ? (this.state.visits[ref] ?? 0) : 0) + 1;
    this.state.visits[ref] = visit;
    return visit;
  }

  warn(task: Task, message: string, ordinal: number): void {
    this.journal.add(
      this.taskEvent(task, EVENT.agentWarning, `warning:${ordinal}`, message, { level: 'warn' }),
    );
  }
}
