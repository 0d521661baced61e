/** Tells what a script writes while it runs: its beginning only, in batches. */
import type { ScriptProgress } from './script-types.ts';

export interface Reporter {
  write(stream: 'stdout' | 'stderr', text: string): void;
  /** Called often: the script never waits, so no timer fires. */
  tick(): void;
  flush(): void;
}

/** More than the run's log takes, so that the log knows that there is more. */
const MAX_CHARACTERS = 128 * 1024;
const BATCH_CHARACTERS = 4 * 1024;
const BATCH_MS = 200;

export function createReporter(report: (progress: ScriptProgress) => void): Reporter {
  let written: ScriptProgress['written'] = [];
  let [all, waiting] = [0, 0];
  let lastAt = performance.now();
  const flush = (): void => {
    lastAt = performance.now();
    waiting = 0;
    if (written.length === 0) return;
    report({ written });
    written = [];
  };
  return {
    write(stream, text) {
      if (all >= MAX_CHARACTERS) return;
      const part = text.slice(0, MAX_CHARACTERS - all);
      all += part.length;
      waiting += part.length;
      const last = written.at(-1);
      if (last?.stream === stream) last.text += part;
      else written.push({ stream, text: part });
      if (waiting >= BATCH_CHARACTERS) flush();
    },
    tick() {
      if (waiting > 0 && performance.now() - lastAt >= BATCH_MS) flush();
    },
    flush,
  };
}
