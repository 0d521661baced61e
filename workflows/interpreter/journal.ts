/**
 * The run's events on the workflow's side. Events wait here until an activity is known to have written them:
 * each main-queue activity carries them along; where the workflow blocks with some left, one activity of their
 * own writes them. Events are numbered by the database, not here.
 */
import { CancellationScope, condition } from '@temporalio/workflow';
import type { EventBatch, NewRunEvent, RunStatus, TerminalStatus, WaitingOn } from '../../contracts/run-events.ts';
import { isFault, RunClosed } from './fault.ts';
import type { RunState } from './state.ts';

const MAX_EVENTS = 200;
const MAX_BYTES = 128 * 1024;
/** From so many unwritten events on, no task starts before they are written. */
const BACKLOG = 160;

export interface Status {
  status: Exclude<RunStatus, TerminalStatus>;
  waiting_on: WaitingOn[];
}

export interface JournalPort {
  append(batch: EventBatch): Promise<{ closed: boolean }>;
  /** What the run's row should show now; `asIf` adds a wait that its own activity begins. */
  status(asIf?: WaitingOn): Status;
  /** Called with each new status on its way to the row. */
  shown(status: Status): void;
}

export class Journal {
  readonly #state: RunState;
  readonly #port: JournalPort;
  /** Events at the front of `state.events` that some running activity carries. */
  #carried = 0;
  #carriedAcks = 0;
  #shown = '';
  /** The wait that what is shown counts already, while its own activity begins it: no news for other batches. */
  #begins: WaitingOn | undefined;
  readonly #sizes = new WeakMap<NewRunEvent, number>();
  #inFlight = 0;
  #closed = false;

  constructor(state: RunState, port: JournalPort) {
    this.#state = state;
    this.#port = port;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Not too much waits to be written. */
  get hasRoom(): boolean {
    return this.#state.events.length - this.#carried < BACKLOG && !this.#bytesOver();
  }

  get idle(): boolean {
    return this.#inFlight === 0 && !this.#unsent();
  }

  add(event: NewRunEvent): void {
    this.#state.events.push(event);
  }

  ack(signalId: string): void {
    this.#state.acks.push(signalId);
  }

  /** Runs an activity with all that is not yet known to be written; `extra` travels only in it. */
  async carry<T>(run: (batch: EventBatch) => Promise<T>, extra: NewRunEvent[] = [], asIf?: WaitingOn): Promise<T> {
    if (!this.hasRoom) await this.makeRoom();
    if (this.#closed) throw new RunClosed();
    const batch = this.#take(extra, asIf);
    const { sent, acks } = batch;
    this.#inFlight++;
    try {
      const result = await run(batch.batch);
      this.#written(sent, acks);
      return result;
    } catch (error) {
      // An activity that reports the counterpart's failure has written its batch before.
      if (isFault(error)) this.#written(sent, acks);
      else this.#unknown();
      throw error;
    } finally {
      this.#inFlight--;
      if (this.#begins === asIf) this.#begins = undefined;
    }
  }

  /** Blocks while too much waits to be written, which also hands the thread back in long loops without activities. */
  async makeRoom(): Promise<void> {
    while (!this.hasRoom) await this.#flush();
    if (this.#closed) throw new RunClosed();
  }

  /** Lets go of the thread: the workflow goes on in another workflow task. */
  async pause(): Promise<void> {
    await this.#flush();
    if (this.#closed) throw new RunClosed();
  }

  /** Writes what nobody else carries, whenever the workflow blocks, until `over`. */
  async flushWhenBlocked(over: () => boolean): Promise<void> {
    for (;;) {
      await condition(() => over() || this.#closed || this.#unsent());
      await othersGoOn();
      if (over() || this.#closed) return;
      if (!this.#unsent()) continue;
      await this.#flush();
    }
  }

  /** Writes until few are left, so that the run's last batch holds the rest. */
  async drain(): Promise<void> {
    while (this.#state.events.length >= BACKLOG && !this.#closed) await this.#flush();
  }

  async #flush(): Promise<void> {
    const { batch, sent, acks } = this.#take([]);
    this.#inFlight++;
    try {
      const { closed } = await CancellationScope.nonCancellable(() => this.#port.append(batch));
      this.#written(sent, acks);
      if (closed) this.#closed = true;
    } finally {
      this.#inFlight--;
    }
  }

  #unsent(): boolean {
    return (
      this.#state.events.length > this.#carried ||
      this.#state.acks.length > this.#carriedAcks ||
      JSON.stringify(this.#port.status(this.#begins)) !== this.#shown
    );
  }

  #bytesOver(): boolean {
    let bytes = 0;
    for (let i = this.#carried; i < this.#state.events.length; i++) {
      bytes += this.#sizeOf(this.#state.events[i]);
      if (bytes > MAX_BYTES) return true;
    }
    return false;
  }

  #show(status: Status): void {
    const text = JSON.stringify(status);
    if (text !== this.#shown) this.#port.shown(status);
    this.#shown = text;
  }

  /** Whether they were written is not known: they go again with the next activity, which ignores those that are there. */
  #unknown(): void {
    this.#carried = 0;
    this.#carriedAcks = 0;
    this.#shown = '';
  }

  #sizeOf(event: NewRunEvent | undefined): number {
    if (event === undefined) return 0;
    let size = this.#sizes.get(event);
    if (size === undefined) {
      size = 200 + event.key.length + event.message.length + JSON.stringify(event.data).length;
      this.#sizes.set(event, size);
    }
    return size;
  }

  #take(extra: NewRunEvent[], asIf?: WaitingOn): { batch: EventBatch; sent: NewRunEvent[]; acks: string[] } {
    const events: NewRunEvent[] = [];
    let bytes = 0;
    for (const event of this.#state.events) {
      bytes += this.#sizeOf(event);
      if (events.length > 0 && (events.length >= MAX_EVENTS || bytes > MAX_BYTES)) break;
      events.push(event);
    }
    this.#carried = Math.max(this.#carried, events.length);
    const acks = this.#state.acks.slice(0, MAX_EVENTS);
    this.#carriedAcks = Math.max(this.#carriedAcks, acks.length);
    const complete = events.length === this.#state.events.length;
    const status = this.#port.status(asIf);
    // The row may only show a status whose events are in the log by then.
    const projection = complete ? { counter: ++this.#state.counter, ...status } : null;
    if (complete) {
      this.#show(status);
      this.#begins = asIf;
    }
    return { batch: { events: [...events, ...extra], projection, acks }, sent: events, acks };
  }

  #written(sent: NewRunEvent[], acks: string[]): void {
    const done = new Set(sent);
    const before = this.#state.events.length;
    this.#state.events = this.#state.events.filter((event) => !done.has(event));
    this.#carried = Math.max(0, this.#carried - (before - this.#state.events.length));
    const ids = new Set(acks);
    const acksBefore = this.#state.acks.length;
    this.#state.acks = this.#state.acks.filter((id) => !ids.has(id));
    this.#carriedAcks = Math.max(0, this.#carriedAcks - (acksBefore - this.#state.acks.length));
  }
}

/** Until all that the same activation has woken is blocked again: it may carry what else would be written for itself. */
async function othersGoOn(): Promise<void> {
  // A condition is looked at where it is made, and then whenever nothing else can go on.
  let looked = false;
  await condition(() => {
    const before = looked;
    looked = true;
    return before;
  });
}
