/**
 * Waiting polls of external workers (docs/external-workers.md). They wait in memory: notifications of the
 * database, by one connection of this process, tell which agent has a new job. While nothing comes, one
 * statement every few seconds finds what no notification tells of, such as leases that have run out.
 */
import type { Logger } from '../../config/logger.ts';
import type { Notifications } from '../../db/notifications.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { AppError } from '../../domain/errors.ts';
import { agentsWithJobs, giveBack, takeJobs, type Poll, type TakenJob } from '../../domain/jobs/work.ts';
import { refusalOf } from '../../domain/jobs/worker-tokens.ts';

/** How often jobs are looked for that no notification tells of; and while notifications are lost. */
const CHECK_MS = 5_000;
const CHECK_UNNOTIFIED_MS = 1_000;
/** How many statements take jobs at once. */
const AT_ONCE = 4;
/** Of this process; each is an open connection. */
const MAX_WAITING = 20_000;
/** Empty pools are remembered, so that the next poll of the same worker asks nothing. */
const MAX_EMPTY_POOLS = 20_000;

interface JobPollsDeps {
  fork: () => EntityManager;
  logger: Logger;
  /** Of new jobs; the payload is the agent's id. Without it, jobs are looked for every second. */
  newJobs: Notifications | undefined;
  pollsPerHolder: number;
}

interface WaitingPoll extends Poll {
  resolve(jobs: TakenJob[]): void;
  reject(error: unknown): void;
  isOver: boolean;
  /** It waits for one look only. */
  isImmediate: boolean;
}

/** The polls that ask for the same jobs; who has waited longest is served first. */
interface Pool {
  agentId: string;
  polls: Set<WaitingPoll>;
  /** There may be jobs: nobody has looked since the last sign of one. */
  mayHaveJobs: boolean;
  isServed: boolean;
}

export class JobPolls {
  readonly #deps: JobPollsDeps;
  readonly #pools = new Map<string, Pool>();
  readonly #poolsOfAgent = new Map<string, Set<Pool>>();
  readonly #ofHolder = new Map<string, number>();
  readonly #toServe = new Set<Pool>();
  #serving = 0;
  #waiting = 0;
  #isSubscribed = false;
  #isStopped = false;
  #check: NodeJS.Timeout | undefined;

  constructor(deps: JobPollsDeps) {
    this.#deps = deps;
  }

  /** How many polls wait in this process. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Waits for jobs, at most `waitMs`, and until `closed` is aborted. Empty if none came. @throws 429 if the
   * holder has too many waiting polls, 401 if its token is revoked, 403 if it waits for a second factor
   */
  async poll(poll: Poll, waitMs: number, closed: AbortSignal): Promise<TakenJob[]> {
    if (this.#isStopped || closed.aborted) return [];
    this.#subscribe();
    this.#count(poll.holder);
    const { promise, resolve, reject } = Promise.withResolvers<TakenJob[]>();
    const entry: WaitingPoll = { ...poll, resolve, reject, isOver: false, isImmediate: waitMs === 0 };
    const pool = this.#poolOf(poll);
    pool.polls.add(entry);
    // Without a wait, the answer is what a look into the table gives.
    if (waitMs === 0) pool.mayHaveJobs = true;
    const timer = waitMs === 0 ? undefined : setTimeout(() => this.#end(pool, entry, []), waitMs);
    const abandon = (): void => this.#end(pool, entry, []);
    closed.addEventListener('abort', abandon, { once: true });
    this.#serve(pool);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      closed.removeEventListener('abort', abandon);
      this.#uncount(poll.holder);
    }
  }

  /** Ends all polls with an empty list. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#check);
    for (const pool of this.#pools.values()) for (const entry of pool.polls) this.#end(pool, entry, []);
  }

  #count(holder: string): void {
    const ofHolder = this.#ofHolder.get(holder) ?? 0;
    const { pollsPerHolder } = this.#deps;
    if (ofHolder >= pollsPerHolder || this.#waiting >= MAX_WAITING) {
      const detail =
        ofHolder >= pollsPerHolder
          ? `More than ${pollsPerHolder} polls of this worker wait here.`
          : 'Too many polls wait here.';
      throw new AppError('too_many_requests', 'too_many_polls', detail, { headers: { 'Retry-After': '5' } });
    }
    this.#ofHolder.set(holder, ofHolder + 1);
    this.#waiting++;
  }

  #uncount(holder: string): void {
    const left = (this.#ofHolder.get(holder) ?? 1) - 1;
    if (left === 0) this.#ofHolder.delete(holder);
    else this.#ofHolder.set(holder, left);
    this.#waiting--;
  }

  #poolOf({ agentId, queue }: Poll): Pool {
    const key = `${agentId} ${queue ?? ''}`;
    const known = this.#pools.get(key);
    if (known) return known;
    if (this.#pools.size >= MAX_EMPTY_POOLS) this.#forgetEmpty();
    const pool: Pool = { agentId, polls: new Set(), mayHaveJobs: true, isServed: false };
    this.#pools.set(key, pool);
    const ofAgent = this.#poolsOfAgent.get(agentId) ?? new Set();
    this.#poolsOfAgent.set(agentId, ofAgent.add(pool));
    return pool;
  }

  #forgetEmpty(): void {
    for (const [key, pool] of this.#pools) {
      if (pool.polls.size > 0 || pool.isServed) continue;
      this.#pools.delete(key);
      const ofAgent = this.#poolsOfAgent.get(pool.agentId);
      ofAgent?.delete(pool);
      if (ofAgent?.size === 0) this.#poolsOfAgent.delete(pool.agentId);
    }
  }

  #end(pool: Pool, entry: WaitingPoll, jobs: TakenJob[]): void {
    entry.isOver = true;
    pool.polls.delete(entry);
    entry.resolve(jobs);
  }

  #subscribe(): void {
    if (!this.#isSubscribed) {
      this.#isSubscribed = true;
      this.#deps.newJobs?.subscribe((agentId) => this.#notified(agentId));
    }
    this.#check ??= setTimeout(() => void this.#lookForJobs(), this.#checkMs()).unref();
  }

  #checkMs(): number {
    return this.#deps.newJobs?.isConnected ? CHECK_MS : CHECK_UNNOTIFIED_MS;
  }

  #notified(agentId: string | null): void {
    // What came while the connection was down is unknown: the next look finds it.
    if (agentId === null) this.#forgetEmpty();
    else this.#mark(agentId);
  }

  #mark(agentId: string): void {
    for (const pool of this.#poolsOfAgent.get(agentId) ?? []) {
      pool.mayHaveJobs = true;
      this.#serve(pool);
    }
  }

  async #lookForJobs(): Promise<void> {
    try {
      const agents = new Set<string>();
      for (const pool of this.#pools.values()) if (pool.polls.size > 0) agents.add(pool.agentId);
      if (agents.size > 0) {
        const found = await agentsWithJobs(this.#deps.fork(), arrayLiteral(agents));
        for (const agentId of found) this.#mark(agentId);
      }
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'cannot look for jobs of workers');
    } finally {
      this.#check = undefined;
      // Pools without polls hear of new jobs by notifications only.
      if (!this.#deps.newJobs?.isConnected) this.#forgetEmpty();
      if (this.#waiting > 0 && !this.#isStopped) this.#subscribe();
    }
  }

  #serve(pool: Pool): void {
    if (pool.mayHaveJobs && pool.polls.size > 0) this.#toServe.add(pool);
    while (this.#serving < AT_ONCE) {
      const [next] = this.#toServe;
      if (next === undefined) return;
      this.#toServe.delete(next);
      if (next.isServed) continue;
      void this.#serveNow(next);
    }
  }

  /** Serves one poll. Then it is the turn of the other pools, so that a busy one delays none for long. */
  async #serveNow(pool: Pool): Promise<void> {
    this.#serving++;
    pool.isServed = true;
    try {
      const [entry] = pool.polls;
      if (entry !== undefined) await this.#take(pool, entry);
    } finally {
      pool.isServed = false;
      this.#serving--;
      this.#serve(pool);
    }
  }

  async #take(pool: Pool, entry: WaitingPoll): Promise<void> {
    pool.mayHaveJobs = false;
    try {
      const jobs = await takeJobs(this.#deps.fork(), entry);
      if (jobs === null || jobs.length > 0) pool.mayHaveJobs = true;
      if (jobs === null) {
        pool.polls.delete(entry);
        entry.reject(await refusalOf(this.#deps.fork(), entry.holder));
      } else if (entry.isOver) await giveBack(this.#deps.fork(), jobs, entry.holder);
      else if (jobs.length > 0) this.#end(pool, entry, jobs);
      else this.#endUnserved(pool);
    } catch (error) {
      pool.polls.delete(entry);
      entry.reject(error);
    }
  }

  /** Polls without a wait have had their look. */
  #endUnserved(pool: Pool): void {
    for (const entry of pool.polls) if (entry.isImmediate) this.#end(pool, entry, []);
  }
}
