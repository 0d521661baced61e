/**
 * The run's events in the workflow. They wait here until an activity is known to have written them. Each
 * activity carries the events of its own branch; when the workflow blocks, an activity of the journal writes
 * the rest. The database numbers the events. The number of activities in flight is bounded, however many
 * branches the definition forks (docs/adr/0018).
 */
import { CancellationScope, condition } from '@temporalio/workflow';
import type { Appended } from '../../contracts/activities.ts';
import type {
  EventBatch,
  NewRunEvent,
  RunStatus,
  TerminalStatus,
  WaitingOn,
} from '../../contracts/run-events.ts';
import { handedOverTo, isFault, RunClosed } from './fault.ts';
import { Lane } from './lane.ts';
import {
  bytesOf,
  cut,
  fits,
  MAX_BATCH_BYTES,
  MAX_BATCH_EVENTS,
  PendingEvents,
  type Selection,
} from './pending-events.ts';
import { othersGoOn, Room } from './room.ts';
import { sizeOf } from './size.ts';
import type { RunState } from './state.ts';
import type { Strand } from './strand.ts';

/** With this many unwritten events, no task starts before they are written. */
const BACKLOG = 160;
/** A task adds at least two events. */
const TURN = BACKLOG / 2;
/**
 * Temporal accepts messages of 4 MB, and 2,000 pending activities in an execution. If more than 100 events
 * arrive during a workflow task, it repeats the task with a replay of the whole history; each activity adds
 * two.
 */
const CALLS = { count: 48, bytes: 1024 * 1024 };
const WRITES = { count: 24, bytes: 1024 * 1024 };
/** Larger inputs become references (temporal/payload-codec.ts). */
const INLINE_BYTES = 64 * 1024;
/** The size of a command without its input. */
const COMMAND_BYTES = 1024;
/**
 * From this size on, events that every branch of a fork would have to carry are written before the branches
 * start.
 */
const SHARED_BYTES = 16 * 1024;
/** Up to this many simultaneous waits are each shown by their own activity. */
const SHOWN_ONE_BY_ONE = 8;

export interface Status {
  status: Exclude<RunStatus, TerminalStatus>;
  /** The first waits only. */
  waiting_on: WaitingOn[];
  waiting_count: number;
}

export interface JournalPort {
  append(batch: EventBatch): Promise<Appended>;
  /** The status that the run's row should show now; `asIf` adds a wait that its own activity begins. */
  status(asIf?: WaitingOn): Status;
  /** Called with each new status that is written to the row. */
  shown(status: Status): void;
  /** False: no call to a counterpart may start in this execution any more. */
  mayCall(): boolean;
}

export interface Carried {
  /** The branch that waits for the activity, which carries the branch's events. */
  strand: Strand;
  /**
   * A call to a counterpart, which may take long. All others are short database writes, which never wait for
   * calls.
   */
  call?: boolean;
  /** The activity's input, whose size counts. */
  input?: unknown;
  /** Travels only in this activity. */
  extra?: NewRunEvent[];
  /** The wait that begins with this activity. */
  asIf?: WaitingOn;
}

interface Sent {
  batch: EventBatch;
  selection: Selection;
  acks: string[];
}

export class Journal {
  readonly #state: RunState;
  readonly #port: JournalPort;
  readonly #pending = new PendingEvents();
  readonly #strands = new WeakMap<NewRunEvent, Strand>();
  readonly #calls: Lane;
  readonly #writes = new Lane(WRITES);
  #acks: string[] = [];
  readonly #carriedAcks = new Set<string>();
  #flushing: Promise<void> | null = null;
  readonly #room: Room;
  #shown = '';
  /**
   * A wait that the shown status already includes, while its own activity begins it; other batches need not
   * show it.
   */
  #begins: WaitingOn | undefined;
  #closed = false;

  constructor(state: RunState, port: JournalPort) {
    this.#state = state;
    this.#port = port;
    this.#calls = new Lane(CALLS, () => port.mayCall());
    this.#room = new Room(
      { flush: () => this.#flush(this.#pending.free()), closed: () => this.#closed },
      TURN,
    );
  }

  get inFlight(): number {
    return this.#calls.inFlight + this.#writes.inFlight + (this.#flushing ? 1 : 0);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Whether few enough events are unwritten to start another task. */
  get hasRoom(): boolean {
    return this.#pending.freeCount < BACKLOG && this.#pending.freeBytes <= MAX_BATCH_BYTES;
  }

  get idle(): boolean {
    return this.inFlight === 0 && !this.#unsent();
  }

  /** The events that the run has added to its log, including earlier executions. */
  get added(): number {
    return this.#state.added ?? 0;
  }

  /** Assigns an event to a branch; unassigned events belong to the run itself. */
  assign(event: NewRunEvent, strand: Strand): NewRunEvent {
    this.#strands.set(event, strand);
    return event;
  }

  add(event: NewRunEvent): void {
    this.#state.added = this.added + 1;
    this.#pending.add(event, this.#strands.get(event) ?? null);
  }

  ack(signalId: string): void {
    this.#acks.push(signalId);
  }

  /** Runs an activity that carries the unwritten events of its branch. Waits while too much is in flight. */
  async carry<T>(carried: Carried, run: (batch: EventBatch) => Promise<T>): Promise<T> {
    const { strand, extra = [], asIf } = carried;
    if (this.#closed) throw new RunClosed();
    const lane = carried.call === true ? this.#calls : this.#writes;
    let before = this.#pending.before(strand);
    const bytes = COMMAND_BYTES + Math.min(INLINE_BYTES, sizeOf(carried.input) + bytesOf(before));
    const admission = lane.enter(strand, bytes);
    if (admission) await admission;
    try {
      if (admission || !fits(before)) before = await this.#writeUntilFits(strand);
      if (this.#closed) throw new RunClosed();
      this.#state.added = this.added + extra.length;
      return await this.#send(
        this.#take(before, extra, () => this.#projection(asIf)),
        run,
      );
    } finally {
      lane.leave(bytes);
      if (this.#begins === asIf) this.#begins = undefined;
    }
  }

  /**
   * Call before a fork: writes the events that each branch would have to carry, if they are large in total.
   */
  async beforeFork(strand: Strand, branches: number): Promise<void> {
    if (bytesOf(this.#pending.before(strand)) * branches <= SHARED_BYTES) return;
    for (let left = this.#pending.before(strand); left.length > 0; left = this.#pending.before(strand)) {
      if (this.#closed) throw new RunClosed();
      await this.#flush(this.#pending.freeCount > 0 ? this.#pending.free() : cut(left));
    }
  }

  /**
   * Blocks until a batch is written, which also yields in long loops without activities. Check `hasRoom`
   * again afterwards.
   */
  makeRoom(): Promise<void> {
    return this.#room.wait();
  }

  /** Yields: the workflow continues in another workflow task. */
  async pause(): Promise<void> {
    await this.#flush(this.#pending.free());
    if (this.#closed) throw new RunClosed();
  }

  /** Until `over`, writes the events that no activity carries, whenever the workflow blocks. */
  async flushWhenBlocked(over: () => boolean): Promise<void> {
    for (;;) {
      await condition(() => over() || this.#closed || this.#unsent());
      await othersGoOn();
      if (over() || this.#closed) return;
      if (!this.#unsent()) continue;
      await this.#flush(this.#pending.free());
    }
  }

  /** Runs the last activity with all remaining events and the run's last event. */
  async end<T>(last: NewRunEvent, run: (batch: EventBatch) => Promise<T>): Promise<T> {
    for (;;) {
      const left = this.#pending.all();
      if (this.#closed) throw new RunClosed();
      if (fits(left))
        return this.#send(
          this.#take(left, [last], () => this.#lastProjection()),
          run,
        );
      await this.#flush(cut(left));
    }
  }

  /** @returns the events that must precede the strand's next event, once they fit into one batch */
  async #writeUntilFits(strand: Strand): Promise<Selection> {
    for (;;) {
      const before = this.#pending.before(strand);
      if (this.#closed || fits(before)) return before;
      await this.#flush(cut(before));
    }
  }

  /** One flush at a time, shared by all callers that need room; they check again afterwards. */
  #flush(selection: Selection): Promise<void> {
    this.#flushing ??= this.#append(selection).finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  async #append(selection: Selection): Promise<void> {
    const append = (batch: EventBatch): Promise<Appended> =>
      CancellationScope.nonCancellable(() => this.#port.append(batch));
    const hasCommands = this.#acks.length > this.#carriedAcks.size;
    const sent = this.#take(
      selection,
      [],
      () => this.#projection() ?? (hasCommands ? this.#shownBefore() : null),
    );
    const { closed, behind } = await this.#send(sent, append);
    if (behind !== undefined) this.#showAgain(sent.batch, behind);
    if (!closed) return;
    this.#closed = true;
    for (const lane of [this.#calls, this.#writes]) lane.refuseAll(new RunClosed());
  }

  async #send<T>({ batch, selection, acks }: Sent, run: (batch: EventBatch) => Promise<T>): Promise<T> {
    try {
      const result = await run(batch);
      this.#written(selection, acks);
      return result;
    } catch (error) {
      // An activity that has come to the counterpart has written its batch before.
      if (isFault(error) || handedOverTo(error) !== null) this.#written(selection, acks);
      else this.#unknown({ batch, selection, acks });
      throw error;
    }
  }

  #unsent(): boolean {
    return (
      this.#pending.freeCount > 0 ||
      this.#acks.length > this.#carriedAcks.size ||
      JSON.stringify(this.#port.status(this.#begins)) !== this.#shown
    );
  }

  #take(selection: Selection, extra: NewRunEvent[], projection: () => EventBatch['projection']): Sent {
    this.#pending.carry(selection);
    const acks = this.#acks.filter((id) => !this.#carriedAcks.has(id)).slice(0, MAX_BATCH_EVENTS);
    for (const id of acks) this.#carriedAcks.add(id);
    const batch = {
      events: [...selection.map(({ event }) => event), ...extra],
      projection: projection(),
      acks,
    };
    return { batch, selection, acks };
  }

  /** A batch shows a new status only once no uncarried event is left. */
  #projection(asIf?: WaitingOn): EventBatch['projection'] {
    if (this.#pending.freeCount > 0) return null;
    // Many simultaneous waits are shown together, when the workflow blocks.
    if (asIf !== undefined && this.#writes.inFlight > SHOWN_ONE_BY_ONE) return null;
    const status = this.#port.status(asIf);
    const text = JSON.stringify(status);
    if (text === this.#shown) return null;
    this.#shown = text;
    this.#begins = asIf;
    this.#port.shown(status);
    return { counter: ++this.#state.counter, ...status };
  }

  /** Before a command, a workflow task that was lost may have shown another status than the last one. */
  #shownBefore(): EventBatch['projection'] {
    if (this.#begins !== undefined || this.#pending.freeCount > 0) return null;
    const status = this.#port.status();
    if (JSON.stringify(status) !== this.#shown) return null;
    return { counter: this.#state.counter, ...status };
  }

  /** The row's status has a counter that this run has not given: of a workflow task that was lost. */
  #showAgain({ projection }: EventBatch, counter: number): void {
    if (projection?.counter !== this.#state.counter) return;
    this.#state.counter = counter;
    this.#shown = '';
  }

  /** The end determines what the row shows, so no other batch has to. */
  #lastProjection(): null {
    this.#shown = JSON.stringify(this.#port.status());
    return null;
  }

  #written(selection: Selection, acks: string[]): void {
    this.#pending.written(selection);
    if (acks.length === 0) return;
    for (const id of acks) this.#carriedAcks.delete(id);
    this.#acks = this.#acks.filter((id) => !acks.includes(id));
  }

  /** Whether they were written is unknown, so they are sent again; the log ignores known events. */
  #unknown({ batch, selection, acks }: Sent): void {
    this.#pending.unknown(selection);
    for (const id of acks) this.#carriedAcks.delete(id);
    if (batch.projection) this.#shown = '';
  }
}
