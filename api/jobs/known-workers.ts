/**
 * Workers' tokens that this process has checked lately, so that a poll that finds nothing reads nothing. What
 * hands out a job, or changes one, always reads the token's row.
 */
import type { EntityManager } from '../../db/orm.ts';
import { findWorker, noteSeen, type WorkerCaller } from '../../domain/jobs/worker-tokens.ts';
import { NotifiedCache } from '../../domain/notified-cache.ts';
import type { Logger } from '../../config/logger.ts';

/** Longer than a poll. Changes of users and tokens arrive as notifications, which empty it. */
const KEPT_MS = 120_000;
const MAX_WORKERS = 20_000;
/** How often a worker is noted as seen, how many of one agent, and of how many agents, in that time. */
const SEEN_MS = 60_000;
const MAX_SEEN_OF_AGENT = 100;
const MAX_SEEN_AGENTS = 2_000;
const FLUSH_MS = 2_000;
const SEPARATOR = '\n';

export class KnownWorkers {
  readonly #fork: () => EntityManager;
  readonly #logger: Logger;
  readonly #known: NotifiedCache<WorkerCaller>;
  #seen = new Map<string, Set<string>>();
  #seenSinceMs = 0;
  #toNote: { agent_id: string; holder: string; worker: string }[] = [];
  #timer: NodeJS.Timeout | null = null;

  /** `isNotified`: whether this process hears of changes. While it does not, nothing is kept. */
  constructor(deps: { fork: () => EntityManager; logger: Logger; isNotified: () => boolean }) {
    this.#fork = deps.fork;
    this.#logger = deps.logger;
    this.#known = new NotifiedCache({ isNotified: deps.isNotified, keptMs: KEPT_MS, most: MAX_WORKERS });
  }

  /** Null for a token that does not count. */
  async find(token: string, { mayBeKept }: { mayBeKept: boolean }): Promise<WorkerCaller | null> {
    const kept = mayBeKept ? this.#known.get(token) : undefined;
    if (kept !== undefined) return kept;
    const keep = this.#known.reading();
    const worker = await findWorker(this.#fork(), token);
    if (worker !== null) keep(token, worker);
    return worker;
  }

  /** Whenever somebody's rights may have changed. */
  clear(): void {
    this.#known.clear();
  }

  /** Notes, in a moment, that a worker has asked for jobs. */
  seen(agentId: string, holder: string, worker: string): void {
    const now = Date.now();
    if (now - this.#seenSinceMs > SEEN_MS) {
      this.#seenSinceMs = now;
      this.#seen.clear();
    }
    if (!this.#seen.has(agentId) && this.#seen.size >= MAX_SEEN_AGENTS) return;
    const ofAgent = this.#seen.get(agentId) ?? new Set<string>();
    this.#seen.set(agentId, ofAgent);
    const name = holder + SEPARATOR + worker;
    if (ofAgent.has(name) || ofAgent.size >= MAX_SEEN_OF_AGENT) return;
    ofAgent.add(name);
    this.#toNote.push({ agent_id: agentId, holder, worker });
    this.#timer ??= setTimeout(() => void this.#note(), FLUSH_MS).unref();
  }

  /** Notes nothing more: the database may be closed. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #note(): Promise<void> {
    this.#timer = null;
    const noted = this.#toNote;
    this.#toNote = [];
    await noteSeen(this.#fork(), noted).catch((error: unknown) =>
      this.#logger.warn({ err: error }, 'cannot note which workers were seen'),
    );
  }
}
