/**
 * Listens on a channel of PostgreSQL. All listeners of a process share one connection to each database,
 * because a commit that notifies anybody wakes every connection that listens on any channel.
 */
import pg from 'pg';

export interface ListenerOptions {
  url: string;
  channel: string;
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
  #connection: Connection | null = null;
  #connecting: Promise<void> | null = null;
  #stopped = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#connection !== null;
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
    await this.#connection?.leave(this);
  }

  notified(payload: string): void {
    this.#options.notified(payload);
  }

  lost(): void {
    this.#connection = null;
    this.#options.lost();
  }

  async #open(): Promise<void> {
    const { url, channel, connected, failed } = this.#options;
    try {
      const connection = Connection.to(url);
      await connection.join(this, channel);
      if (this.#stopped) return await connection.leave(this);
      this.#connection = connection;
      connected();
    } catch (error) {
      failed(error);
    }
  }
}

/** The connection of all listeners of a database. It ends with the last of them. */
class Connection {
  static readonly #all = new Map<string, Connection>();

  static to(url: string): Connection {
    const connection = Connection.#all.get(url) ?? new Connection(url);
    Connection.#all.set(url, connection);
    return connection;
  }

  readonly #url: string;
  readonly #client: pg.Client;
  readonly #open: Promise<unknown>;
  /** Resolves when no statement is under way. */
  #last: Promise<unknown> = Promise.resolve();
  /** By channel. */
  readonly #listeners = new Map<string, Set<Listener>>();
  #ended = false;

  private constructor(url: string) {
    this.#url = url;
    this.#client = new pg.Client({
      connectionString: url,
      application_name: 'cadenza-listen',
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
    });
    for (const event of ['error', 'end'] as const) this.#client.on(event, () => this.#lose());
    this.#client.on('notification', ({ channel, payload = '' }) => {
      for (const listener of this.#listeners.get(channel) ?? []) listener.notified(payload);
    });
    this.#open = this.#client.connect();
    // Each listener that joins learns of it.
    this.#open.catch(() => {});
  }

  /** @throws if the connection cannot be made, or ends meanwhile */
  async join(listener: Listener, channel: string): Promise<void> {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    try {
      await this.#listen(channel);
      if (this.#ended) throw new Error('The connection has ended');
    } catch (error) {
      listeners.delete(listener);
      this.#lose();
      await this.#client.end().catch(() => {});
      throw error;
    }
  }

  /** One statement at a time, after the connection is made. */
  #listen(channel: string): Promise<unknown> {
    const listening = this.#last.then(() => this.#open).then(() => this.#client.query(`listen ${channel}`));
    this.#last = listening.catch(() => {});
    return listening;
  }

  async leave(listener: Listener): Promise<void> {
    for (const listeners of this.#listeners.values()) listeners.delete(listener);
    if ([...this.#listeners.values()].some(({ size }) => size > 0)) return;
    this.#end();
    await this.#client.end().catch(() => {});
  }

  /** Tells those that were connected; who is joining learns of it there. */
  #lose(): void {
    if (this.#ended) return;
    this.#end();
    for (const listeners of this.#listeners.values())
      for (const listener of listeners) if (listener.isConnected) listener.lost();
  }

  /** From now on, who connects gets another connection. */
  #end(): void {
    this.#ended = true;
    if (Connection.#all.get(this.#url) === this) Connection.#all.delete(this.#url);
  }
}
