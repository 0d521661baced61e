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
  /** `updated_at` of the task as the person saw it. */
  seen: string;
  /** When the person decided. */
  at: number;
  /** Until then it can be taken back. */
  heldUntil?: number;
}

/** `changed`: it was not sent, because others have changed the task since the person saw it. */
export type Outcome = { task: HumanTask } | { error: ApiError } | 'changed';
type Listener = (sent: Sending, outcome: Outcome) => void;

/** The server forgets keys after 24 h. */
const KEPT_MS = 23 * 3_600_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** A log-out waits for so long. */
const LAST_MS = 3_000;
const LOOK_MS = 20;

class Outbox {
  /** Decisions that the server has not answered yet. */
  readonly sending = signal<readonly Sending[]>([]);
  /** True while the server cannot be reached. */
  readonly waiting = signal(false);
  #owner: string | null = null;
  #listener: Listener = () => undefined;
  #running = false;
  /** Key of the decision that waits for its answer. */
  #asked: string | null = null;
  #wake: () => void = () => undefined;
  /** Keys of decisions that were not sent at once, or whose answer was lost. */
  readonly #late = new Set<string>();

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
    for (const { key } of this.sending.value) this.#late.add(key);
    void this.#run();
  }

  /** @param heldMs how long it can be taken back; 0 sends it at once @returns its key */
  add(
    task: Pick<HumanTask, 'id' | 'title' | 'updated_at'>,
    body: DecideHumanTaskRequest,
    heldMs = 0,
  ): string {
    const { id: taskId, title, updated_at: seen } = task;
    const [key, at] = [randomKey(), Date.now()];
    const held = heldMs > 0 ? { heldUntil: at + heldMs } : {};
    this.#set([...this.sending.value, { key, taskId, title, body, seen, at, ...held }]);
    this.#wake();
    void this.#run();
    return key;
  }

  /** Takes back a decision that is held. @returns false if it is too late */
  takeBack(key: string): boolean {
    const held = this.sending.value.find((one) => one.key === key && isHeld(one));
    if (held !== undefined) this.#set(this.sending.value.filter((one) => one !== held));
    return held !== undefined;
  }

  /** What was decided last and can be taken back; undefined if nothing can. */
  lastHeld(): Sending | undefined {
    return this.sending.value.findLast(isHeld);
  }

  /** Sends what is held: it cannot be taken back any more. @returns false if nothing is held */
  release(): boolean {
    if (this.lastHeld() === undefined) return false;
    this.#set(this.sending.value.map((decision) => ({ ...decision, heldUntil: 0 })));
    this.#wake();
    return true;
  }

  /** The page may be gone before the first answer, so nothing waits for its turn. */
  sendAll(): void {
    this.release();
    const turn = this.#asked ?? this.#next()?.key;
    for (const decision of this.sending.value)
      // Each is sent again in its turn, and the server gives its answer again.
      if (decision.key !== turn && !this.#late.has(decision.key)) void post(decision).catch(() => undefined);
  }

  /** Sends what is held, before the user leaves. Resolves when it is sent, or after a while. */
  async sendHeld(): Promise<void> {
    if (!this.release()) return;
    for (let waitedMs = 0; this.sending.value.length > 0 && waitedMs < LAST_MS; waitedMs += LOOK_MS)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }

  clear(): void {
    this.#set([]);
    this.#late.clear();
    this.#owner = null;
    this.waiting.value = false;
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    let pauseMs = FIRST_PAUSE_MS;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      if (isHeld(next)) {
        await this.#sleep((next.heldUntil ?? 0) - Date.now());
        continue;
      }
      this.#asked = next.key;
      const outcome = await this.#send(next);
      this.#asked = null;
      if (outcome === 'later') {
        this.waiting.value = true;
        this.#late.add(next.key);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      } else if (outcome === 'log in') {
        this.#late.add(next.key);
        break;
      } else {
        pauseMs = FIRST_PAUSE_MS;
        this.waiting.value = false;
        const { key } = next;
        this.#late.delete(key);
        // Cleared meanwhile by a log-out: nobody waits for the answer.
        if (!this.sending.value.some((other) => other.key === key)) continue;
        this.#set(this.sending.value.filter((other) => other.key !== key));
        this.#listener(next, outcome);
      }
    }
    this.waiting.value = false;
    this.#running = false;
  }

  /** What is not held comes first. */
  #next(): Sending | undefined {
    return this.sending.value.find((one) => !isHeld(one)) ?? this.sending.value[0];
  }

  /** Until something else is to be sent. */
  async #sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, ms);
    });
  }

  async #send(decision: Sending): Promise<Outcome | 'later' | 'log in'> {
    try {
      if (this.#late.has(decision.key)) {
        const user = (await client.call('getSession')) ?? null;
        if (user === null || user.id !== this.#owner) return 'log in';
        if (await isOutdated(decision)) return 'changed';
      }
      return await post(decision);
    } catch (error) {
      if (!(error instanceof ApiError)) return 'later';
      if (error.status === 401) return 'log in';
      // A page before this one, or `sendAll`, has sent it too, and its answer is on the way.
      const isAsked = error.code === 'idempotency_in_progress';
      return isAsked || error.status === 429 || error.status >= 502 ? 'later' : { error };
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

async function post({ key, taskId, body }: Sending): Promise<{ task: HumanTask }> {
  const path = { id: taskId };
  const { task } = await client.call('decideHumanTask', { path, body, idempotencyKey: key });
  return { task };
}

function isHeld({ heldUntil = 0 }: Sending): boolean {
  return heldUntil > Date.now();
}

/** Whether the task has changed since. If it is decided, the server says by whom, or repeats its answer. */
async function isOutdated({ taskId, seen }: Sending): Promise<boolean> {
  const task = await client.call('getHumanTask', { path: { id: taskId } });
  return task.updated_at !== seen && task.decision === null && task.my_vote === null;
}

export const outbox = new Outbox();

// A page that nobody sees may never come back, and whoever has left it has decided.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) outbox.sendAll();
});
