/**
 * A thread that runs scripts, one after the other, each in a new instance of QuickJS in WebAssembly with
 * memory of its own. Its only imports are the functions below.
 */
import { parentPort } from 'node:worker_threads';
import { EvalFlags, JSException, QuickJS, type JSValueHandle } from 'quickjs-wasi';
import { createScriptFiles, type ScriptFiles } from './script-files.ts';
import { MODULES, PRELUDE } from './script-prelude.ts';
import { createReporter, type Reporter } from './script-reporter.ts';
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
  const reporter = createReporter((progress) => parentPort?.postMessage(progress));
  const script = createScript(input.limits, reporter);
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
  const files = createScriptFiles(input.files);
  const host = prepare(vm, input, script, files);
  try {
    await settle(vm, () => vm.evalCode(input.code, 'script', EvalFlags.TYPE_MODULE));
    if (!script.isOver()) script.exit(Number(vm.callFunction(host, vm.undefined).toString()));
  } catch (error) {
    if (script.isOver()) return { ...script.output, files: files.left() };
    if (error instanceof Unsettled) script.fail(UNSETTLED, error.message);
    else if (error instanceof Thrown) script.fail(1, described(vm, host, error.reason));
    else throw error;
  } finally {
    reporter.flush();
  }
  return { ...script.output, files: files.left() };
}

/** The output of a script, and whether it is over. */
interface ScriptState {
  readonly output: Omit<ScriptOutput, 'files'>;
  isOver(): boolean;
  write(stream: Stream, text: string): void;
  exit(code: number): void;
  /** Ends it with a last line on standard error, unless it is over. */
  fail(code: number, text: string): void;
}

function createScript(
  { timeMs, outputBytes, whole }: ScriptInput['limits'],
  reporter: Reporter,
): ScriptState {
  const deadline = performance.now() + timeMs;
  const output: ScriptState['output'] = { code: 0, stdout: '', stderr: '', cut: [], stopped: null };
  const written = { stdout: 0, stderr: 0 };
  let exited = false;
  const isOver = (): boolean => {
    reporter.tick();
    if (!exited && output.stopped === null && performance.now() > deadline) output.stopped = 'time';
    return exited || output.stopped !== null;
  };
  const write = (stream: Stream, text: string): void => {
    if (exited || output.stopped !== null || output.cut.includes(stream)) return;
    const bytes = Buffer.byteLength(text);
    const room = outputBytes - written[stream];
    written[stream] += bytes;
    reporter.write(stream, text);
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
function prepare(
  vm: QuickJS,
  { argv, env, stdin }: ScriptInput,
  script: ScriptState,
  files: ScriptFiles,
): JSValueHandle {
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
  vm.setProp(vm.global, '__files', fileFunction(vm, files));
  return vm.evalCode(PRELUDE, 'prelude');
}

/** `__files(what, path, data)`; a text that begins with `!` is an error. */
function fileFunction(vm: QuickJS, files: ScriptFiles): JSValueHandle {
  return vm.newFunction('__files', (what, path, data) => {
    try {
      const at = path?.toString() ?? '';
      switch (what?.toString()) {
        case 'bytes':
          return vm.newUint8Array(files.read(at));
        case 'text':
          return vm.newString(`=${Buffer.from(files.read(at)).toString('utf8')}`);
        case 'names':
          return vm.newString(`=${JSON.stringify(files.names(at))}`);
        default:
          files.write(at, data?.isString === true ? Buffer.from(data.toString()) : bytesOf(data));
          return vm.newString('=');
      }
    } catch (error) {
      return vm.newString(`!${error instanceof Error ? error.message : String(error)}`);
    }
  });
}

function bytesOf(data: JSValueHandle | undefined): Uint8Array {
  if (data === undefined) throw new Error('a file needs a text or bytes');
  return data.toUint8Array();
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

const crashed: ScriptOutput = { code: 1, stdout: '', stderr: '', cut: [], stopped: 'crash', files: [] };

parentPort?.on('message', (input: ScriptInput) => {
  void runScript(input)
    .catch(() => crashed)
    .then((output) => parentPort?.postMessage(output));
});
