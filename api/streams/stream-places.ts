/**
 * The places that the streams of this copy of the API take among those of their users and addresses. Each has
 * a row while it is open; this copy says every ten seconds, with one statement, that it is still there.
 */
import { v7 as uuidv7 } from 'uuid';

import type { Logger } from '../../config/logger.ts';
import type { EntityManager } from '../../db/orm.ts';
import { addressKey } from '../../domain/auth/throttle.ts';
import { AppError } from '../../domain/errors.ts';
import { reachedFacts } from '../../domain/quotas/check.ts';
import {
  noteAgain,
  noteOpenStream,
  openStreamsOf,
  removeCopy,
  removeOpenStreams,
  renewCopy,
  type OpenStream,
  type TooManyStreams,
} from '../../domain/streams/open-streams.ts';

/** A third of the time after which the streams of a copy that is not heard of stop counting. */
const RENEW_MS = 10_000;

export interface StreamPlacesOptions {
  fork: () => EntityManager;
  logger: Logger;
  /** 0 means no limit. */
  streamsPerUser: number;
  streamsPerAddress: number;
}

export class StreamPlaces {
  readonly #options: StreamPlacesOptions;
  readonly #copyId = uuidv7();
  /** `isNoted`: its row was there. */
  readonly #held = new Map<string, OpenStream & { isNoted: boolean }>();
  /** Have ended, and still have a row. */
  readonly #ended = new Set<string>();
  /** What changes rows of streams that are open already, one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #isRemovalDue = false;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  constructor(options: StreamPlacesOptions) {
    this.#options = options;
  }

  /** @returns gives the place back. @throws 429 */
  async take(userId: string, ip: string): Promise<() => void> {
    const { fork, streamsPerUser: perUser, streamsPerAddress: perAddress } = this.#options;
    const place = { id: uuidv7(), user_id: userId, address: addressKey(ip), isNoted: false };
    // Before the statement, so that nothing takes the row for one that was left behind.
    this.#held.set(place.id, place);
    try {
      const refused = await noteOpenStream(fork(), this.#copyId, place, { perUser, perAddress });
      if (refused !== null) {
        this.#held.delete(place.id);
        throw tooManyStreams(refused);
      }
    } catch (error) {
      // The row may be there, if only the answer of the database was lost.
      this.#leave(place.id);
      throw error;
    }
    place.isNoted = true;
    this.#schedule();
    return () => this.#leave(place.id);
  }

  /** Streams that are still open stop counting. Resolves when the database is not needed any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#inTurn(() => removeCopy(this.#options.fork(), this.#copyId));
  }

  #leave(id: string): void {
    if (!this.#held.delete(id) || this.#isStopped) return;
    this.#ended.add(id);
    if (this.#isRemovalDue) return;
    this.#isRemovalDue = true;
    void this.#inTurn(() => this.#remove());
  }

  /** Of all streams that have ended meanwhile. If it fails, the next renewal tries again. */
  async #remove(): Promise<void> {
    this.#isRemovalDue = false;
    const ids = [...this.#ended];
    if (ids.length === 0 || this.#isStopped) return;
    this.#schedule();
    await removeOpenStreams(this.#options.fork(), ids);
    for (const id of ids) this.#ended.delete(id);
  }

  #schedule(): void {
    if (this.#timer !== null || this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#renew(), RENEW_MS).unref();
  }

  async #renew(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#isStopped) return;
      await this.#remove();
      const count = await renewCopy(this.#options.fork(), this.#copyId);
      if (count !== this.#held.size) await this.#repair();
    });
    this.#timer = null;
    if (this.#held.size > 0 || this.#ended.size > 0) this.#schedule();
  }

  async #repair(): Promise<void> {
    const em = this.#options.fork();
    const stored = new Set(await openStreamsOf(em, this.#copyId));
    const lost = [...this.#held.values()].filter(({ id, isNoted }) => isNoted && !stored.has(id));
    const left = [...stored].filter((id) => !this.#held.has(id));
    if (lost.length > 0) await noteAgain(em, this.#copyId, lost);
    if (left.length > 0) await removeOpenStreams(em, left);
  }

  #inTurn(work: () => Promise<unknown>): Promise<unknown> {
    this.#turn = this.#turn.then(work).catch((error: unknown) => {
      this.#options.logger.warn({ err: error }, 'cannot note which streams are open');
    });
    return this.#turn;
  }
}

const WHOSE = { user: 'a user', address: 'an address' } as const;

function tooManyStreams({ scope, limit, own }: TooManyStreams): AppError {
  const facts = { quota: 'streams', scope: 'user', setting: 'STREAMS_PER_USER', limit, own } as const;
  return new AppError(
    'too_many_requests',
    'too_many_streams',
    `The limit of ${limit} open streams of ${WHOSE[scope]} is reached: close one first.`,
    { headers: { 'Retry-After': '5' }, ...(scope === 'user' ? { extra: reachedFacts(facts) } : {}) },
  );
}
