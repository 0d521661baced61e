/**
 * Decisions on their way to the server. Each has an idempotency key, so however often it is sent, it counts
 * once. While the server cannot be reached, decisions stay here, also over a reload of the page.
 */
import { signal } from '@preact/signals';

import { ApiError, type DecideHumanTaskRequest, type HumanTask } from '../../../client/index.ts';
import { client } from './api.ts';
import { randomKey } from './random-key.ts';

export interface Sending {
  key: string;
  taskId: string;
  title: string;
  body: DecideHumanTaskRequest;
  /** When the person decided. */
  at: number;
}

export type Outcome = { task: HumanTask } | { error: ApiError };
type Listener = (sent: Sending, outcome: Outcome) => void;

/** The server forgets keys after 24 h. */
const KEPT_MS = 23 * 3_600_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

class Outbox {
  /** Decisions that the server has not answered yet. */
  readonly sending = signal<readonly Sending[]>([]);
  /** True while the server cannot be reached. */
  readonly waiting = signal(false);
  #owner: string | null = null;
  #listener: Listener = () => undefined;
  #running = false;

  /** Called with each answer. */
  onAnswer(listener: Listener): void {
    this.#listener = listener;
  }

  /** Takes over what this user has not sent yet. */
  open(userId: string): void {
    if (this.#owner === userId) {
      void this.#run();
      return;
    }
    this.#owner = userId;
    this.sending.value = this.#stored().filter(({ at }) => Date.now() - at < KEPT_MS);
    void this.#run();
  }

  add(taskId: string, title: string, body: DecideHumanTaskRequest): void {
    const decision = { key: randomKey(), taskId, title, body, at: Date.now() };
    this.#set([...this.sending.value, decision]);
    void this.#run();
  }

  clear(): void {
    this.#set([]);
    this.#owner = null;
    this.waiting.value = false;
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    let pauseMs = FIRST_PAUSE_MS;
    for (let next = this.sending.value[0]; next !== undefined; next = this.sending.value[0]) {
      const outcome = await this.#send(next);
      if (outcome === 'later') {
        this.waiting.value = true;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      } else if (outcome === 'log in') break;
      else {
        pauseMs = FIRST_PAUSE_MS;
        this.waiting.value = false;
        const { key } = next;
        // Cleared meanwhile by a log-out: nobody waits for the answer.
        if (!this.sending.value.some((other) => other.key === key)) continue;
        this.#set(this.sending.value.filter((other) => other.key !== key));
        this.#listener(next, outcome);
      }
    }
    this.#running = false;
  }

  async #send({ key, taskId, body }: Sending): Promise<Outcome | 'later' | 'log in'> {
    try {
      const { task } = await client.call('decideHumanTask', {
        path: { id: taskId },
        body,
        idempotencyKey: key,
      });
      return { task };
    } catch (error) {
      if (!(error instanceof ApiError)) return 'later';
      if (error.status === 401) return 'log in';
      return error.status === 429 || error.status >= 502 ? 'later' : { error };
    }
  }

  #set(sending: readonly Sending[]): void {
    this.sending.value = sending;
    if (this.#owner === null) return;
    if (sending.length === 0) sessionStorage.removeItem(this.#storageKey());
    else sessionStorage.setItem(this.#storageKey(), JSON.stringify(sending));
  }

  #stored(): Sending[] {
    // Only this class writes the entry.
    return JSON.parse(sessionStorage.getItem(this.#storageKey()) ?? '[]') as Sending[];
  }

  #storageKey(): string {
    return `cadenza-decisions-${this.#owner}`;
  }
}

export const outbox = new Outbox();
