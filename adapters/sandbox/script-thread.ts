/**
 * A thread that runs scripts, one after the other, each in a new instance of QuickJS in WebAssembly with
 * memory of its own. Its only imports are the functions below.
 */
import { parentPort } from 'node:worker_threads';
import { EvalFlags, JSException, QuickJS, type JSValueHandle } from 'quickjs-wasi';
import { MODULES, PRELUDE } from './script-prelude.ts';
import type { ScriptInput, ScriptOutput } from './script-types.ts';

type Stream = 'stdout' | 'stderr';

/** Of the engine, whose own stack has 1 MiB. */
const STACK_BYTES = 256 * 1024;
/** As Node ends when the top level awaits what never comes. */
const UNSETTLED = 13;

/** What the script threw. */
class Thrown extends Error {
  readonly reason: JSValueHandle;

  constructor(reason: JSValueHandle) {
    super('the script failed');
    this.reason = reason;
  }
}
class Unsettled extends Error {}

async function runScript(input: ScriptInput): Promise<ScriptOutput> {
  const script = createScript(input.limits);
  const vm = await QuickJS.create({
    wasm: input.wasm,
    memoryLimit: input.limits.memoryBytes,
    maxStackSize: STACK_BYTES,
    interruptHandler: () => script.isOver(),
    timezoneOffset: 0,
    moduleLoader: { load: moduleOf },
    // The engine's own messages go nowhere.
    wasi: () => ({ fd_write: () => 8 }),
  });
  const host = prepare(vm, input, script);
  try {
    await settle(vm, () => vm.evalCode(input.code, 'script', EvalFlags.TYPE_MODULE));
    if (!script.isOver()) script.exit(Number(vm.callFunction(host, vm.undefined).toString()));
  } catch (error) {
    if (script.isOver()) return script.output;
    if (error instanceof Unsettled) script.fail(UNSETTLED, error.message);
    else if (error instanceof Thrown) script.fail(1, described(vm, host, error.reason));
    else throw error;
  }
  return script.output;
}

/** The output of a script, and whether it is over. */
interface ScriptState {
  readonly output: ScriptOutput;
  isOver(): boolean;
  write(stream: Stream, text: string): void;
  exit(code: number): void;
  /** Ends it with a last line on standard error, unless it is over. */
  fail(code: number, text: string): void;
}

function createScript({ timeMs, outputBytes, whole }: ScriptInput['limits']): ScriptState {
  const deadline = performance.now() + timeMs;
  const output: ScriptOutput = { code: 0, stdout: '', stderr: '', cut: [], stopped: null };
  const written = { stdout: 0, stderr: 0 };
  let exited = false;
  const isOver = (): boolean => {
    if (!exited && output.stopped === null && performance.now() > deadline) output.stopped = 'time';
    return exited || output.stopped !== null;
  };
  const write = (stream: Stream, text: string): void => {
    if (exited || output.stopped !== null || output.cut.includes(stream)) return;
    const bytes = Buffer.byteLength(text);
    const room = outputBytes - written[stream];
    written[stream] += bytes;
    if (bytes <= room) output[stream] += text;
    else {
      // Without the character that does not fit.
      output[stream] += new TextDecoder().decode(Buffer.from(text).subarray(0, room), { stream: true });
      output.cut.push(stream);
      if (whole.includes(stream)) output.stopped = 'output';
    }
  };
  const exit = (code: number): void => {
    if (isOver()) return;
    exited = true;
    output.code = code & 255;
  };
  const fail = (code: number, text: string): void => {
    if (isOver()) return;
    if (/^(?:InternalError|RangeError): out of memory/.test(text)) output.stopped = 'memory';
    write('stderr', `${text}\n`);
    exit(code);
  };
  return { output, isOver, write, exit, fail };
}

/** Gives the script what it finds. @returns the prelude's function for the host */
function prepare(vm: QuickJS, { argv, env, stdin }: ScriptInput, script: ScriptState): JSValueHandle {
  vm.setProp(vm.global, '__input', vm.newString(JSON.stringify({ argv, env, stdin })));
  const write = vm.newFunction('__write', (fd, text) => {
    if (fd?.isNumber && text?.isString)
      script.write(fd.toNumber() === 2 ? 'stderr' : 'stdout', text.toString());
    return vm.undefined;
  });
  vm.setProp(vm.global, '__write', write);
  const exit = vm.newFunction('__exit', (code) => {
    script.exit(code?.isNumber ? code.toNumber() : 0);
    return vm.undefined;
  });
  vm.setProp(vm.global, '__exit', exit);
  return vm.evalCode(PRELUDE, 'prelude');
}

/** Runs a module, and what it has left to do. @throws Thrown, Unsettled */
async function settle(vm: QuickJS, evaluate: () => JSValueHandle): Promise<void> {
  try {
    const promise = evaluate();
    vm.executePendingJobs();
    if (promise.promiseState === 0)
      throw new Unsettled('The script awaits something at its top level that never happens');
    const result = await vm.resolvePromise(promise);
    if ('error' in result) throw new Thrown(result.error);
  } catch (error) {
    throw error instanceof JSException ? new Thrown(error.handle) : error;
  }
}

function described(vm: QuickJS, host: JSValueHandle, reason: JSValueHandle): string {
  try {
    return vm.callFunction(host, vm.undefined, reason).toString();
  } catch (failure) {
    if (failure instanceof JSException) return `${failure.name}: ${failure.message}`;
    throw failure;
  }
}

function moduleOf(name: string): string {
  const known = name.replace(/^node:/, '');
  const source = Object.hasOwn(MODULES, known) ? MODULES[known] : undefined;
  if (source !== undefined) return source;
  const error = new Error(`there is no module ${JSON.stringify(name)}: only node:fs and node:process`);
  // The script sees it, and it names files of the worker.
  error.stack = '';
  throw error;
}

const crashed: ScriptOutput = { code: 1, stdout: '', stderr: '', cut: [], stopped: 'crash' };

parentPort?.on('message', (input: ScriptInput) => {
  void runScript(input)
    .catch(() => crashed)
    .then((output) => parentPort?.postMessage(output));
});
