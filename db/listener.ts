/** One connection that listens on a channel of PostgreSQL. */
import pg from 'pg';

export interface ListenerOptions {
  url: string;
  channel: string;
  /** Shown by PostgreSQL in `pg_stat_activity`. */
  applicationName: string;
  /** Receives the payload of each notification. */
  notified: (payload: string) => void;
  /** Called for each new connection: notifications before it may have been lost. */
  connected: () => void;
  /** Called when a connection ends that was made. */
  lost: () => void;
  /** Called when a connection could not be made. */
  failed: (error: unknown) => void;
}

/** A server that takes connections and does not answer must not keep a listener from trying again. */
const ANSWER_MS = 10_000;

export class Listener {
  readonly #options: ListenerOptions;
  #client: pg.Client | null = null;
  #connecting: Promise<void> | null = null;
  #stopped = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#client !== null;
  }

  /** Connects, unless that is done, under way, or too late. Resolves after the attempt; never rejects. */
  async connect(): Promise<void> {
    if (this.isConnected || this.#stopped) return;
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = null;
    });
    await this.#connecting;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#connecting;
    await this.#client?.end().catch(() => {});
  }

  async #open(): Promise<void> {
    const { url, channel, applicationName, notified, connected, lost, failed } = this.#options;
    const client = new pg.Client({
      connectionString: url,
      application_name: applicationName,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
    });
    const ended = (): void => {
      // What was never connected is not lost: those who wait must not ask a server that is away at once.
      if (this.#client !== client) return;
      this.#client = null;
      lost();
    };
    client.on('error', ended);
    client.on('end', ended);
    client.on('notification', ({ payload = '' }) => notified(payload));
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
      if (this.#stopped) return await client.end();
      this.#client = client;
      connected();
    } catch (error) {
      await client.end().catch(() => {});
      failed(error);
    }
  }
}
