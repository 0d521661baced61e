/** Bounds what waits for a worker thread, so that other users wait for a few things only. */
import { AppError } from './errors.ts';

const MAX_WAITING = 16;
/** Keeps one user from taking all places. */
const MAX_WAITING_OF_USER = 4;

export class WaitingPlaces {
  readonly #refusal: string;
  readonly #users: string[] = [];

  /** @param refusal what somebody is told for whom there is no place */
  constructor(refusal: string) {
    this.#refusal = refusal;
  }

  /** @returns what gives the place back @throws 503 if all are taken, or as many of this user as may be */
  take(userId: string): () => void {
    const ofUser = this.#users.filter((user) => user === userId).length;
    if (this.#users.length >= MAX_WAITING || ofUser >= MAX_WAITING_OF_USER)
      throw new AppError('unavailable', 'busy', this.#refusal, { headers: { 'Retry-After': '2' } });
    this.#users.push(userId);
    return () => void this.#users.splice(this.#users.indexOf(userId), 1);
  }
}
