/**
 * The rules for short calls: local activities, which run within the run's workflow task and are recorded with
 * it (docs/adr/0030). If the task is lost, it is repeated. The repetition has to go the same way and to find
 * the same calls, so everything on the way has to be a function of recorded results.
 */
import type { ShortCallRules } from '../../contracts/temporal.ts';
import { clockRecorded, hasReadClock, mayReadStart } from './clock.ts';

/**
 * Then the next call is an ordinary one, which records all before it: commands of people arrive only between
 * workflow tasks.
 */
const MAX_UNRECORDED_MS = 250;
/** The timeout of the workflow has to be so far away: its timer cannot end a short call. */
const DEADLINE_MARGIN_MS = 10_000;

interface ShortCallsOf {
  rules: ShortCallRules | undefined;
  definition: unknown;
  agents: readonly { agent: string; version?: string }[];
}

export class ShortCalls {
  readonly #rules: ShortCallRules | undefined;
  readonly #agents: ReadonlySet<string>;
  /** Rules before 3: when the first unrecorded call began, in milliseconds. */
  #since: number | null = null;
  /** How long the unrecorded calls took together. */
  #tookMs = 0;
  /** The last workflow task with a short call; `historyLength` tells tasks apart. */
  #task: { historyLength: number; startedMs: number } | null = null;
  /** Timeouts of tasks and attempts that are under way. */
  #deadlines = 0;

  constructor({ rules, definition, agents }: ShortCallsOf) {
    this.#rules = rules !== undefined && !mayReadStart(definition) ? rules : undefined;
    this.#agents = new Set(agents.map(({ agent, version }) => keyOf(agent, version)));
  }

  /** Whether the next call may be short; its timeout and agent are still to be checked. */
  mayBegin(workflowDeadline: number | undefined): boolean {
    if (this.#rules === undefined || this.#deadlines > 0 || hasReadClock()) return false;
    if (!this.usesClock) return this.#tookMs < MAX_UNRECORDED_MS;
    const now = Date.now();
    if (workflowDeadline !== undefined && workflowDeadline - now < DEADLINE_MARGIN_MS) return false;
    return this.#since === null || now - this.#since < MAX_UNRECORDED_MS;
  }

  fits(timeoutMs: number): boolean {
    if (this.#rules === undefined || timeoutMs <= 0) return false;
    return this.#rules.version !== 1 || timeoutMs <= this.#rules.timeout_ms;
  }

  /** After this time a call has to be handed over; undefined: never. */
  get handOverMs(): number | undefined {
    return this.#rules === undefined || this.#rules.version === 1 ? undefined : this.#rules.hand_over_ms;
  }

  /**
   * Whether the rules depend on the workflow's clock, as before version 3. A replay takes a workflow task
   * that was prolonged, and the one that prolonged it, for one: its clock then begins with the last of them.
   */
  get usesClock(): boolean {
    return this.#rules !== undefined && this.#rules.version < 3;
  }

  /** Whether a call may be short, by what is known of its agent. */
  knows(agent: unknown, version: unknown): boolean {
    if (typeof agent !== 'string' || !(version === undefined || typeof version === 'string')) return false;
    return this.#agents.has(keyOf(agent, version));
  }

  began(): void {
    this.#since ??= Date.now();
  }

  /** A call has ended. It took so long by what the history has of it, which of a failed one is nothing. */
  took(ms: number | undefined): void {
    this.#tookMs += ms ?? MAX_UNRECORDED_MS;
  }

  /**
   * When the workflow task was started in which the next call begins, by the clock of Temporal's server. Only
   * the first call begins then: each one adds to `Date.now()` how long it took here.
   */
  taskStartedMs(historyLength: number): number {
    if (this.#task?.historyLength !== historyLength) this.#task = { historyLength, startedMs: Date.now() };
    return this.#task.startedMs;
  }

  /** The main branch continues in a workflow task that follows a recorded one. */
  recorded(): void {
    this.#since = null;
    this.#tookMs = 0;
    clockRecorded();
  }

  /** As `withDeadline`, for attempts that are repeated for a limited time. */
  async withinLimit<T>(run: () => Promise<T>): Promise<T> {
    return this.usesClock ? run() : this.withDeadline(run);
  }

  async withDeadline<T>(run: () => Promise<T>): Promise<T> {
    this.#deadlines++;
    try {
      return await run();
    } finally {
      this.#deadlines--;
    }
  }
}

function keyOf(agent: string, version: string | undefined): string {
  return JSON.stringify([agent, version ?? null]);
}
