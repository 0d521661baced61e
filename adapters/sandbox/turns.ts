/** At most so many at once; the others wait in order. */
export interface Turns {
  /** @throws the signal's reason, if it is aborted before the turn comes */
  take<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export function createTurns(atOnce: number): Turns {
  let free = atOnce;
  const waiting = new Set<() => void>();
  const leave = (): void => {
    const [next] = waiting;
    if (next === undefined) free++;
    else {
      waiting.delete(next);
      next();
    }
  };
  return {
    async take(signal, work) {
      signal.throwIfAborted();
      if (free > 0) free--;
      else
        await new Promise<void>((resolve, reject) => {
          const abort = (): void => {
            waiting.delete(go);
            reject(signal.reason as Error);
          };
          const go = (): void => {
            signal.removeEventListener('abort', abort);
            resolve();
          };
          signal.addEventListener('abort', abort, { once: true });
          waiting.add(go);
        });
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
