/** Whether writes are paused, for the parts of a worker that cannot wait for an answer of the database. */
import type { WritePauseWatch } from '../domain/operations/write-pause.ts';

const LOOK_MS = 1_000;

export interface PauseFlag {
  readonly isOn: boolean;
  /** Resolves at once unless writes are paused. */
  ended(): Promise<void>;
  stop(): void;
}

/** It is known when this resolves, so that a process which starts during a pause does nothing before it. */
export async function watchWritePause(watch: WritePauseWatch): Promise<PauseFlag> {
  let isOn = (await watch.current()) !== null;
  let isStopped = false;
  const waiting: (() => void)[] = [];
  const set = (next: boolean): void => {
    // An answer may come after the end.
    isOn = next && !isStopped;
    if (isOn) return;
    for (const resume of waiting.splice(0)) resume();
  };
  const timer = setInterval(() => {
    void watch.current().then((pause) => set(pause !== null));
  }, LOOK_MS);
  timer.unref();
  return {
    get isOn() {
      return isOn;
    },
    ended: () => (isOn ? new Promise((resolve) => void waiting.push(resolve)) : Promise.resolve()),
    stop() {
      clearInterval(timer);
      isStopped = true;
      set(false);
    },
  };
}
