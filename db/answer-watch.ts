/**
 * Notices that PostgreSQL takes what it is sent and does not answer: it is frozen, or a network swallows its
 * packets. Without it, each statement of a request would wait for its own timeout, one after the other. With
 * it all of them fail at once, and so does what comes later, until the server answers again.
 */
import pg from 'pg';

/** A statement, or a connection, that waits for longer is a reason to ask the server. */
const SUSPICIOUS_MS = 4_000;
/** The server has this long to answer a new connection. */
const ANSWER_MS = 5_000;
const LOOK_MS = 500;
/** Between two questions while the server does not answer. */
const AGAIN_MS = 1_000;

interface WatchedPool {
  readonly waitingCount: number;
}

interface WatchedClient {
  query(...args: unknown[]): unknown;
  end(): Promise<void>;
}

interface AnswerWatchOptions {
  url: string;
  logger?: { warn(message: string): void } | undefined;
}

/** Of one pool. */
export class AnswerWatch {
  readonly #options: AnswerWatchOptions;
  readonly #timer: NodeJS.Timeout;
  /** Statements that wait for their answer. */
  readonly #waiting = new Set<{ client: WatchedClient; since: number }>();
  #pool: WatchedPool | null = null;
  /** Since when somebody has been waiting for a connection, without a break. */
  #queueSince: number | null = null;
  #askNextAt = 0;
  #isAsking = false;
  #silentSince: number | null = null;

  constructor(options: AnswerWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  watchPool(pool: WatchedPool): void {
    this.#pool = pool;
  }

  watchClient(client: WatchedClient): void {
    const query = client.query.bind(client);
    client.query = (...args) => {
      const result = query(...args);
      if (!(result instanceof Promise)) return result;
      const entry = { client, since: performance.now() };
      this.#waiting.add(entry);
      const forget = (): void => void this.#waiting.delete(entry);
      result.then(forget, forget);
      return result;
    };
  }

  /** What everybody gets while the server does not answer; null: it does. */
  refusal(): Error | null {
    // The beginning is that of the driver's own errors of lost connections.
    return this.#silentSince === null ? null : new Error('Connection terminated: PostgreSQL is silent');
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    this.#queueSince = (this.#pool?.waitingCount ?? 0) > 0 ? (this.#queueSince ?? now) : null;
    const oldest = Math.min(this.#queueSince ?? now, ...[...this.#waiting].map(({ since }) => since));
    if (this.#isAsking || now < this.#askNextAt) return;
    if (this.#silentSince === null && now - oldest < SUSPICIOUS_MS) return;
    this.#isAsking = true;
    void answers(this.#options.url).then((isAnswered) => {
      this.#isAsking = false;
      this.#judge(isAnswered);
    });
  }

  #judge(isAnswered: boolean): void {
    const now = performance.now();
    this.#askNextAt = now + (isAnswered ? SUSPICIOUS_MS : AGAIN_MS);
    const { logger } = this.#options;
    if (isAnswered) {
      if (this.#silentSince === null) return;
      const seconds = Math.round((now - this.#silentSince) / 1_000);
      this.#silentSince = null;
      logger?.warn(`PostgreSQL answers again, after ${seconds} s`);
      return;
    }
    if (this.#silentSince === null)
      logger?.warn('PostgreSQL does not answer; requests are refused meanwhile');
    this.#silentSince ??= now;
    // With a statement under way this closes the connection, without waiting for the server.
    for (const { client } of this.#waiting) client.end().catch(() => undefined);
  }
}

/** @returns whether the server reacts in time, by whatever: a refusal is an answer, too */
async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'cadenza-answers',
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select');
    return true;
  } catch (error) {
    // Messages of the driver, which have no code.
    return !(error instanceof Error && /^(timeout expired|Query read timeout)/.test(error.message));
  } finally {
    client.end().catch(() => undefined);
  }
}
