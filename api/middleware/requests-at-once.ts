/**
 * Limits how many requests of one caller a process works on at the same time, so that nobody else waits for
 * them: connections of the database, memory of answers that are read slowly.
 */
import type { Context, Middleware } from 'koa';

import { anonymous, type Actor } from '../../domain/auth/actor.ts';
import { AppError } from '../../domain/errors.ts';
import { tokenIdOf, type WorkerCaller } from '../../domain/jobs/worker-tokens.ts';
import type { Endpoint } from '../endpoint.ts';

export class RequestsAtOnce {
  readonly #limit: number;
  readonly #open = new Map<string, number>();

  /** `limit`: of each caller; 0 means any number. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Does the work of a request after authentication. The request counts until its work is done and its answer
   * has been read, or until it becomes a stream (`releaseOf`). @throws 429 `too_many_at_once`
   */
  async count<T>(ctx: Context, work: () => Promise<T>): Promise<T> {
    const worker: WorkerCaller | undefined = ctx.state['worker'];
    const actor: Actor = ctx.state['actor'];
    if (actor === anonymous && !worker) return work();
    const release = this.enter(worker ? tokenIdOf(worker) : actor.id);
    ctx.state['release'] = release;
    try {
      return await work();
    } finally {
      if (ctx.res.closed) release();
      else ctx.res.once('close', release);
    }
  }

  /** @returns ends the count, once. @throws 429 `too_many_at_once` */
  enter(caller: string): () => void {
    if (this.#limit === 0) return () => {};
    const open = this.#open.get(caller) ?? 0;
    if (open >= this.#limit)
      throw new AppError(
        'too_many_requests',
        'too_many_at_once',
        `You have ${this.#limit} requests under way: wait for their answers.`,
        { headers: { 'Retry-After': '1' } },
      );
    this.#open.set(caller, open + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = (this.#open.get(caller) ?? 0) - 1;
      if (left > 0) this.#open.set(caller, left);
      else this.#open.delete(caller);
    };
  }
}

/** Ends the count of this request, because another limit counts it from now on. */
export function releaseOf(ctx: Context): () => void {
  const release: unknown = ctx.state['release'];
  return () => {
    if (typeof release === 'function') release();
  };
}

/** For endpoints. Polls of external workers have a limit of their own. */
export function requestsAtOnceMiddleware(
  requests: RequestsAtOnce,
  { workerToken }: Pick<Endpoint, 'workerToken'>,
): Middleware {
  return (ctx, next) =>
    workerToken === 'kept' && ctx.state['worker'] !== undefined ? next() : requests.count(ctx, next);
}
