/** What the task runners share: the definition, the state, the journal, and what the run waits for. */
import { condition, workflowInfo } from '@temporalio/workflow';
import type { Definition, FlowDirective, Task as TaskDefinition } from '../../contracts/definition/model.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { EventBatch, EventLevel, NewRunEvent, WaitingOn } from '../../contracts/run-events.ts';
import type { RunStart } from '../../contracts/temporal.ts';
import type { At, Variables } from './data-flow.ts';
import { rested } from './effort.ts';
import { RunClosed } from './fault.ts';
import { Journal } from './journal.ts';
import type { Status } from './journal.ts';
import { framesOf } from './state.ts';
import type { Frame, RunState, Scope } from './state.ts';

export const RUNTIME = { name: 'cadenza', version: '0.1.0', metadata: {} };

/** From here on no branch starts an activity until the run has gone on in a new execution. */
const FORCED_EVENTS = 30_000;

export interface Task {
  name: string;
  ref: string;
  frame: Frame;
  visit: number;
  /** DSL retry attempt of the nearest `try`. */
  attempt: number;
  env: Env;
}

/** What a task sees from outside: `$context`'s holder and the variables of loops and catches. */
export interface Env {
  scope: Scope;
  variables: Variables;
  attempt: number;
}

/** What a kind's runner gives back: raw output, and where to go where the task itself says so. */
export interface Outcome {
  output: unknown;
  then?: FlowDirective;
  /** For the completed event: agent, usage, child run, decision. */
  data?: Record<string, unknown>;
}

export type RunKind = (x: Execution, definition: TaskDefinition, task: Task, input: unknown, at: At) => Outcome | Promise<Outcome>;

export interface ExecutionPorts {
  append(batch: EventBatch): Promise<{ closed: boolean }>;
  /** For people in Temporal UI. */
  shown(status: Status): void;
  /** Where the run is served. */
  url?: string | undefined;
  /** Kinds run task lists, which run tasks of any kind: the circle is closed here. */
  runKind: RunKind;
}

export class Execution {
  readonly runKind: RunKind;
  readonly start: RunStart;
  /** The source of events that name none. */
  readonly url: string;
  readonly definition: Definition;
  readonly state: RunState;
  readonly journal: Journal;
  /** Children that some branch waits for, by run id: where `child.waiting` is noted. */
  readonly children = new Map<string, NonNullable<Frame['child']>>();
  /** Human tasks that some branch asks, by id: other decisions are not kept. */
  readonly asked = new Set<string>();
  #strands = 1;
  /** Branches whose condition has come true and that have not moved on yet. */
  #moving = 0;
  #frozen = false;
  #resting: Promise<void> | null = null;
  readonly #waits = new Map<string, WaitingOn[]>();

  constructor(start: RunStart, state: RunState, ports: ExecutionPorts) {
    this.runKind = ports.runKind;
    this.start = start;
    this.url = ports.url ?? `/runs/${start.run_id}`;
    // Validated when the run was created; the type is what validation promises.
    this.definition = start.definition as Definition;
    this.state = state;
    // Signals come before the branches are back at their places.
    for (const { child, human, remote } of framesOf(state.root)) {
      if (child) this.children.set(child.id, child);
      for (const question of [human, remote?.human]) if (question) this.asked.add(question.id);
    }
    this.journal = new Journal(state, { append: (batch) => ports.append(batch), status: (asIf) => this.status(asIf), shown: (status) => ports.shown(status) });
  }

  /** Before each task: suspension, backlog, and the way over to a new execution. Nothing to wait for where the way is free: each promise of a step costs. */
  gate(): Promise<void> | undefined {
    if (this.state.suspended || this.wantsContinueAsNew || !this.journal.hasRoom || this.journal.closed) return this.#gate();
    return undefined;
  }

  async #gate(): Promise<void> {
    if (this.state.suspended) await this.until(() => !this.state.suspended || this.journal.closed);
    await this.journal.makeRoom();
    if (this.wantsContinueAsNew && (this.journal.inFlight === 0 || workflowInfo().historyLength >= FORCED_EVENTS)) {
      await condition(() => false);
    }
    if (this.journal.closed) throw new RunClosed();
  }

  /** For who `isTired`: until another workflow task. Ask again after it, at once before computing: branches wake together. */
  async rest(): Promise<void> {
    this.#resting ??= this.journal.pause().finally(() => {
      this.#resting = null;
      rested();
    });
    await this.#resting;
  }

  /** Waits for a condition; with `timeoutMs`, false if it did not come true in time. */
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

  /**
   * Waits until a new execution is wanted and nothing is under way: no activity, nothing unwritten, every branch at a
   * point that its frame can be re-entered at. From then on no branch moves.
   */
  async quietForContinueAsNew(): Promise<void> {
    await condition(() => {
      if (!this.wantsContinueAsNew || this.#moving > 0 || !this.journal.idle || this.journal.closed) return false;
      this.#frozen = true;
      return true;
    });
  }

  get wantsContinueAsNew(): boolean {
    return workflowInfo().continueAsNewSuggested;
  }

  /** One strand becomes `n` (a fork's branches), or one of them ends (−1). */
  strands(change: number): void {
    this.#strands += change;
  }

  /** While `wait` runs, the task shows in `waiting_on`, and the run as waiting if all else waits too. */
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
    return { status, waiting_on: waits.flat() };
  }

  event(type: string, kind: string, message: string, more: { level?: EventLevel; data?: Record<string, unknown> } = {}): NewRunEvent {
    return this.#event(`run:${kind}`, type, null, message, more);
  }

  taskEvent(
    task: Pick<Task, 'ref' | 'visit'>,
    type: string,
    kind: string,
    message: string,
    more: { level?: EventLevel; data?: Record<string, unknown> } = {},
  ): NewRunEvent {
    const data = { workflow: this.qualifiedName, task: task.ref, visit: task.visit, ...more.data };
    return this.#event(`${task.ref}#${task.visit}:${kind}`, type, task.ref, message, { ...more, data });
  }

  get qualifiedName(): string {
    const { name, namespace } = this.definition.document;
    return `${name}-${this.start.run_id}.${namespace}`;
  }

  #event(
    key: string,
    type: string,
    task: string | null,
    message: string,
    more: { level?: EventLevel; data?: Record<string, unknown> },
  ): NewRunEvent {
    return { key, type, at: new Date().toISOString(), level: more.level ?? 'info', task, message, data: more.data ?? {} };
  }

  /** A visit's number: how often this run has entered the pointer, this entry included. */
  enter(ref: string): number {
    const visit = (Object.hasOwn(this.state.visits, ref) ? (this.state.visits[ref] ?? 0) : 0) + 1;
    this.state.visits[ref] = visit;
    return visit;
  }

  warn(task: Task, message: string, ordinal: number): void {
    this.journal.add(this.taskEvent(task, EVENT.agentWarning, `warning:${ordinal}`, message, { level: 'warn' }));
  }
}
