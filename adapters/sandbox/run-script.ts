/**
 * Runs JavaScript without any access to the worker: QuickJS in WebAssembly, in one of a few threads, so that
 * the worker goes on meanwhile.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { fault } from '../../contracts/fault.ts';
import { createTurns } from './turns.ts';
import type { ScriptInput, ScriptOutput, ScriptProgress } from './script-types.ts';

export interface ScriptSettings {
  /** Scripts that run at once. */
  threads: number;
  memoryMib: number;
  seconds: number;
}

export type Script = Pick<ScriptInput, 'code' | 'argv' | 'env' | 'stdin' | 'files'> & {
  /** Milliseconds until the task's own deadline. */
  timeoutMs: number;
  outputBytes: number;
  whole: readonly ('stdout' | 'stderr')[];
};

export interface ScriptRunner {
  /**
   * `onOutput` gets the first part of the output as it comes. @throws Fault at a limit, and the signal's
   * reason
   */
  run(script: Script, signal: AbortSignal, onOutput?: OnOutput): Promise<ScriptOutput>;
}

type OnOutput = (stream: 'stdout' | 'stderr', text: string) => void;

const MIB = 1024 * 1024;
/** The thread ends the script at the limit. One that cannot is terminated this much later. */
const GRACE_MS = 1_000;
/** A thread without work ends after this time. */
const IDLE_MS = 60_000;

const CRASHED: ScriptOutput = { code: 1, stdout: '', stderr: '', cut: [], stopped: 'crash', files: [] };

export function createScriptRunner({ threads, memoryMib, seconds }: ScriptSettings): ScriptRunner {
  const turns = createTurns(threads);
  const pool = createPool();
  let compiled: Promise<WebAssembly.Module> | null = null;
  return {
    run({ timeoutMs, outputBytes, whole, ...script }, signal, onOutput = () => {}) {
      const deadline = performance.now() + timeoutMs;
      return turns.take(signal, async () => {
        const wasm = await (compiled ??= compile());
        const timeMs = Math.min(seconds * 1000, deadline - performance.now());
        if (timeMs <= 0) throw fault('timeout', 'The script did not get its turn in time');
        const limits = { memoryBytes: memoryMib * MIB, timeMs, outputBytes, whole };
        const output = await pool.run({ ...script, wasm, limits }, signal, onOutput);
        throwAtLimit(output, limits);
        return output;
      });
    },
  };
}

async function compile(): Promise<WebAssembly.Module> {
  const file = createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm');
  return WebAssembly.compile(await readFile(file));
}

/** Keeps the threads of scripts that ended by themselves for the next ones. */
function createPool(): {
  run(input: ScriptInput, signal: AbortSignal, onOutput: OnOutput): Promise<ScriptOutput>;
} {
  const idle = new Map<Worker, NodeJS.Timeout>();
  const take = (): Worker => {
    const [kept] = idle;
    if (kept === undefined) return startThread();
    const [thread, timer] = kept;
    clearTimeout(timer);
    idle.delete(thread);
    return thread;
  };
  const keep = (thread: Worker): void => {
    const end = (): void => {
      idle.delete(thread);
      void thread.terminate();
    };
    thread.once('exit', () => idle.delete(thread));
    idle.set(thread, setTimeout(end, IDLE_MS).unref());
  };
  return {
    async run(input, signal, onOutput) {
      const thread = take();
      let output: ScriptOutput | null = null;
      try {
        output = await inThread(thread, input, signal, onOutput);
        return output;
      } finally {
        for (const event of ['message', 'error', 'exit']) thread.removeAllListeners(event);
        // Without a listener, a thread that runs out of memory as it is ended would end the worker, too.
        thread.on('error', () => {});
        // An engine at a limit may hold much memory, or not be able to go on.
        if (output?.stopped === null) keep(thread);
        else void thread.terminate();
      }
    },
  };
}

function startThread(): Worker {
  const thread = new Worker(new URL('./script-thread.ts', import.meta.url), {
    env: {},
    execArgv: ['--no-warnings'],
    stdout: true,
    stderr: true,
    // Of the thread's own JavaScript. QuickJS counts its memory itself.
    resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 },
  });
  thread.unref();
  return thread;
}

async function inThread(
  thread: Worker,
  input: ScriptInput,
  signal: AbortSignal,
  onOutput: OnOutput,
): Promise<ScriptOutput> {
  signal.throwIfAborted();
  let timer: NodeJS.Timeout | undefined;
  let abort = (): void => {};
  try {
    return await new Promise<ScriptOutput>((resolve, reject) => {
      abort = () => reject(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      const late = (): void => resolve({ ...CRASHED, stopped: 'time' });
      timer = setTimeout(late, input.limits.timeMs + GRACE_MS);
      thread.on('message', (message: ScriptOutput | ScriptProgress) => {
        if (!('written' in message)) resolve(message);
        else for (const { stream, text } of message.written) onOutput(stream, text);
      });
      thread.once('error', () => resolve(CRASHED));
      thread.once('exit', () => resolve(CRASHED));
      thread.postMessage(input);
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

function throwAtLimit({ stopped, cut }: ScriptOutput, limits: ScriptInput['limits']): void {
  const { memoryBytes, timeMs, outputBytes, whole } = limits;
  switch (stopped) {
    case null:
      return;
    case 'time':
      throw fault('timeout', `The script did not end within ${Math.round(timeMs) / 1000} s`);
    case 'memory':
      throw fault('runtime', `The script needs more than ${memoryBytes / MIB} MiB of memory`);
    case 'output': {
      const streams = cut.filter((stream) => whole.includes(stream)).join(' and ');
      throw fault('runtime', `The script wrote more than ${outputBytes} bytes to ${streams}`);
    }
    case 'crash':
      throw fault('runtime', 'The script made the engine crash that runs it');
  }
}
