/**
 * Notices that PostgreSQL takes what it is sent and does not answer: it is frozen, or a network swallows its
 * packets. Without it, each statement of a request or an activity would wait for its own timeout, one after
 * the other. With it all of them fail at once, and so does what comes later, until the server answers again.
 */
import pg from 'pg';

/** A statement, or a connection, that waits for longer is a reason to ask the server. */
const SUSPICIOUS_MS = 4_000;
/** The server has this long to answer a new connection. */
const ANSWER_MS = 5_000;
const LOOK_MS = 500;
/** Between two questions while the server does not answer. */
const AGAIN_MS = 1_000;
/** A process that is kept from its work for longer may have an answer and not know it yet. */
const OWN_DELAY_MS = 500;
const TICK_MS = 100;

interface WatchedClient {
  query(...args: unknown[]): unknown;
  end(): Promise<void>;
}

interface AnswerWatchOptions {
  url: string;
  logger?: { warn(message: string): void } | undefined;
}

/** A statement that waits for its answer, or what waits for a connection. */
interface Wait {
  since: number;
  fail(): void;
}

/** Of one pool. */
export class AnswerWatch {
  readonly #options: AnswerWatchOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #waiting = new Set<Wait>();
  #askNextAt = 0;
  #isAsking = false;
  #silentSince: number | null = null;

  constructor(options: AnswerWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  watchClient(client: WatchedClient): void {
    const query = client.query.bind(client);
    client.query = (...args) => {
      const result = query(...args);
      if (!(result instanceof Promise)) return result;
      // With a statement under way this closes the connection, without waiting for the server.
      const done = this.#begin(() => void client.end().catch(() => undefined));
      result.then(done, done);
      return result;
    };
  }

  /**
   * Waits for a connection, but not for one that cannot be made. `giveBack` gets a connection that comes when
   * nobody waits for it any more.
   */
  async connecting<T>(connect: () => Promise<T>, giveBack: (late: T) => void): Promise<T> {
    if (this.#silentSince !== null) throw silent();
    const refused = Promise.withResolvers<never>();
    let isRefused = false;
    const done = this.#begin(() => {
      isRefused = true;
      refused.reject(silent());
    });
    const connected = connect();
    connected.then(
      (client) => isRefused && giveBack(client),
      () => undefined,
    );
    try {
      return await Promise.race([connected, refused.promise]);
    } finally {
      done();
    }
  }

  /** @returns ends the wait */
  #begin(fail: () => void): () => void {
    const wait = { since: performance.now(), fail };
    this.#waiting.add(wait);
    return () => void this.#waiting.delete(wait);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    // In the order in which they began.
    const [oldest] = this.#waiting;
    if (this.#isAsking || now < this.#askNextAt) return;
    if (this.#silentSince === null && now - (oldest?.since ?? now) < SUSPICIOUS_MS) return;
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
      logger?.warn('PostgreSQL does not answer; what needs it fails at once meanwhile');
    this.#silentSince ??= now;
    for (const wait of this.#waiting) wait.fail();
  }
}

/** What everybody gets while the server does not answer. */
function silent(): Error {
  // The beginning is that of the driver's own errors of lost connections.
  return new Error('Connection terminated: PostgreSQL is silent');
}

/**
 * A process that was too busy to hear an answer says nothing against the server.
 * @returns whether it reacts in time, by whatever: a refusal is an answer, too
 */
async function answers(url: string): Promise<boolean> {
  const delay = watchOwnDelay();
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
    const isLate = error instanceof Error && /^(timeout expired|Query read timeout)/.test(error.message);
    return !isLate || delay.longestMs() > OWN_DELAY_MS;
  } finally {
    delay.stop();
    client.end().catch(() => undefined);
  }
}

/** Measures for how long this process did not come to what was due. */
function watchOwnDelay(): { longestMs(): number; stop(): void } {
  let last = performance.now();
  let longest = 0;
  const look = (): number => {
    const now = performance.now();
    longest = Math.max(longest, now - last - TICK_MS);
    last = now;
    return longest;
  };
  const timer = setInterval(look, TICK_MS);
  timer.unref();
  return { longestMs: look, stop: () => clearInterval(timer) };
}
