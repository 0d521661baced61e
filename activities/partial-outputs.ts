/**
 * Sends what calls with `stream: true` produce to those who follow their runs: in batches, by one statement
 * of the process at a time, and without any call waiting. What does not fit is dropped, the oldest first.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MikroORM } from '@mikro-orm/postgresql';
import type { Logger } from '../config/logger.ts';
import { PARTIAL, type PartialOutput } from '../contracts/partial-output.ts';
import type { PartialRedaction, PartialSink } from '../domain/ports.ts';
import {
  followedAmong,
  MAX_NOTIFICATION_BYTES,
  notificationOf,
  notify,
} from '../domain/runs/partial-output.ts';

export interface PartialOutputs {
  open(call: PartialCallRef): OpenPartial;
}

interface OpenPartial extends PartialSink {
  /**
   * Sends the rest if somebody follows the run; takes at most half a second. Throws nothing. If the output is
   * not whole, what may be the beginning of a secret stays hidden.
   */
  end(output: { isWhole: boolean }): Promise<void>;
}

interface PartialCallRef {
  run_id: string;
  task: string;
  visit: number;
  attempt: number;
}

const TICK_MS = 250;
/** How often a process asks which of its runs somebody follows. */
const CHECK_MS = 1_000;
const END_MS = 500;
/** Of all calls of a process, in one statement. */
const MAX_NOTIFICATIONS = 200;
/** Of one call. The rest of its text waits for the next tick. */
const MAX_PIECES = 4;
/** Text of a call that waits to be redacted, and to be sent. */
const MAX_RAW = 16_384;
const MAX_WAITING = 8_192;
const MAX_PROGRESS = 500;
/** JSON writes a character with at most six bytes. */
const CHARACTER_BYTES = 6;

export function createPartialOutputs({ orm, logger }: { orm: MikroORM; logger: Logger }): PartialOutputs {
  const open = new Set<PartialCall>();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | null = null;
  let checkedAt = 0;

  const check = async (): Promise<void> => {
    checkedAt = performance.now();
    const runIds = new Set(Array.from(open, ({ runId }) => runId));
    const followed = await followedAmong(orm.em.fork(), runIds);
    for (const call of open) call.followed = followed.has(call.runId);
  };
  const send = async (): Promise<void> => {
    if (performance.now() - checkedAt >= CHECK_MS) await check();
    const notifications = takeFrom(open);
    if (notifications.length > 0) await notify(orm.em.fork(), notifications);
  };
  const tick = (): void => {
    sending ??= send()
      .catch((error: unknown) => logger.warn({ err: error }, 'cannot show what calls produce'))
      .finally(() => {
        sending = null;
      });
  };
  const end = async (call: PartialCall, isWhole: boolean): Promise<void> => {
    open.delete(call);
    if (open.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    if (!call.followed) return;
    const rest = async (): Promise<void> => {
      // Pieces stay in order.
      await sending;
      const notifications = call.takeRest(isWhole);
      if (notifications.length > 0) await notify(orm.em.fork(), notifications);
    };
    await Promise.race([rest().catch(() => {}), sleep(END_MS)]);
  };

  return {
    open(ref) {
      const call = new PartialCall(ref);
      open.add(call);
      checkedAt = 0;
      timer ??= setInterval(tick, TICK_MS).unref();
      return {
        redactBy: (redaction) => call.redactBy(redaction),
        output: (text) => call.output(text),
        restart: () => call.restart(),
        progress: (text) => call.progress(text),
        end: ({ isWhole }) => end(call, isWhole),
      };
    },
  };
}

/** Notifications for the next pieces of the calls. Those that are served go to the end. */
function takeFrom(open: Set<PartialCall>): string[] {
  const notifications: string[] = [];
  const served: PartialCall[] = [];
  for (const call of open) {
    if (notifications.length > MAX_NOTIFICATIONS - MAX_PIECES) break;
    if (!call.followed) continue;
    notifications.push(...call.take());
    served.push(call);
  }
  for (const call of served) {
    open.delete(call);
    open.add(call);
  }
  return notifications;
}

/** What one call has produced and nobody has got yet. */
class PartialCall implements PartialSink {
  readonly runId: string;
  followed = false;
  readonly #ref: Pick<PartialOutput, 'task' | 'visit' | 'attempt'>;
  readonly #pieceLength: number;
  #redaction: PartialRedaction | null = null;
  /** Not redacted: the end that may be the beginning of a secret, and what came after it. */
  #raw = '';
  /** How much of it has been searched for secrets already. */
  #restLength = 0;
  /** Redacted. */
  #waiting = '';
  /** How many characters of the output come before `#waiting`. */
  #offset = 0;
  #progress: string | null = null;

  constructor({ run_id: runId, task, visit, attempt }: PartialCallRef) {
    this.runId = runId;
    this.#ref = { task, visit, attempt };
    const empty = notificationOf(runId, this.#output(Number.MAX_SAFE_INTEGER, ''));
    this.#pieceLength = Math.floor((MAX_NOTIFICATION_BYTES - Buffer.byteLength(empty)) / CHARACTER_BYTES);
  }

  redactBy(redaction: PartialRedaction): void {
    this.#redaction = redaction;
  }

  output(text: string): void {
    this.#raw += text;
    if (this.#raw.length - this.#restLength > MAX_RAW) this.#redact();
  }

  restart(): void {
    this.#raw = '';
    this.#restLength = 0;
    this.#waiting = '';
    this.#offset = 0;
  }

  progress(text: string): void {
    this.#progress = this.#redaction?.redact(text).slice(0, MAX_PROGRESS) ?? null;
  }

  /** Notifications for the next pieces of the text. */
  take(maxPieces = MAX_PIECES): string[] {
    if (this.#raw.length > this.#restLength) this.#redact();
    const notifications: string[] = [];
    // A task whose pointer alone fills a notification shows nothing.
    if (this.#pieceLength < 1) return notifications;
    if (this.#progress !== null) {
      const text = this.#progress.slice(0, this.#pieceLength);
      notifications.push(
        notificationOf(this.runId, { type: PARTIAL.progress, ...this.#ref, offset: null, text }),
      );
      this.#progress = null;
    }
    while (this.#waiting !== '' && notifications.length < maxPieces) {
      const text = this.#waiting.slice(0, this.#pieceLength);
      notifications.push(notificationOf(this.runId, this.#output(this.#offset, text)));
      this.#waiting = this.#waiting.slice(text.length);
      this.#offset += text.length;
    }
    return notifications;
  }

  /** Those for the end of the text. */
  takeRest(isWhole: boolean): string[] {
    if (isWhole) {
      const raw = this.#raw;
      this.#raw = '';
      this.#restLength = 0;
      this.#append(this.#redaction?.redact(raw) ?? '');
    }
    return this.take(2 * MAX_PIECES);
  }

  #output(offset: number, text: string): PartialOutput {
    return { type: PARTIAL.output, ...this.#ref, offset, text };
  }

  #redact(): void {
    // Without a redaction nothing is known to be free of secrets.
    const { done, rest } = this.#redaction?.redactHead(this.#raw) ?? { done: '', rest: '' };
    this.#raw = rest;
    this.#restLength = rest.length;
    this.#append(done);
  }

  #append(text: string): void {
    const all = this.#waiting + text;
    const dropped = Math.max(0, all.length - MAX_WAITING);
    this.#waiting = all.slice(dropped);
    this.#offset += dropped;
  }
}
