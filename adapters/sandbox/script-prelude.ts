/**
 * What a script finds in QuickJS besides the language: `console`, a little of Node's `process`, standard
 * input, and the files of `/files`. It runs inside the sandbox, before the script; it can be changed by the
 * script and trusts nothing.
 */

/** The part of `node:fs` and `node:process` that can be imported. */
export const MODULES: Readonly<Record<string, string>> = {
  fs:
    'const { fs } = globalThis.__host; export default fs; ' +
    'export const { existsSync, readFileSync, readdirSync, writeFileSync } = fs;',
  process:
    'const { process } = globalThis.__host; export default process; ' +
    'export const { argv, env, exit, stdin, stdout, stderr } = process;',
};

/** Evaluates to a function of the host: `describe(reason)`, and the exit code without an argument. */
export const PRELUDE = `(() => {
  const { argv, env, stdin } = JSON.parse(globalThis.__input);
  const write = globalThis.__write;
  const leave = globalThis.__exit;
  const files = globalThis.__files;
  for (const name of ['__input', '__write', '__exit', '__files']) delete globalThis[name];
  const shown = (value) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'bigint') return value + 'n';
    if (value instanceof Error) return described(value);
    if (typeof value !== 'object' || value === null) return String(value);
    try { return JSON.stringify(value) ?? String(value); }
    catch { return Object.prototype.toString.call(value); }
  };
  const described = (error) => {
    if (!(error instanceof Error)) return 'Uncaught ' + shown(error);
    const stack = typeof error.stack === 'string' ? error.stack.trimEnd() : '';
    return String(error) + (stack === '' ? '' : '\\n' + stack);
  };
  const line = (stream) => (...values) => { write(stream, values.map(shown).join(' ') + '\\n'); };
  const [out, err] = [line(1), line(2)];
  const stream = (fd) => ({ fd, write: (text) => { write(fd, String(text)); return true; } });
  const exit = (code) => { leave(Number(code ?? process.exitCode ?? 0) | 0); for (;;); };
  const process = {
    argv: ['node', 'script', ...argv],
    env,
    stdin: { fd: 0 },
    stdout: stream(1),
    stderr: stream(2),
    exit,
    exitCode: undefined,
  };
  const asked = (what, path, data) => {
    const answer = files(what, String(path), data);
    if (typeof answer === 'string' && answer[0] === '!') throw new Error(answer.slice(1));
    return typeof answer === 'string' ? answer.slice(1) : answer;
  };
  const fs = {
    existsSync(path) {
      try { fs.readFileSync(path); return true; } catch { return false; }
    },
    readFileSync(file, options) {
      if (file === 0 || file === '/dev/stdin') return stdin;
      return asked(options === undefined || options === null ? 'bytes' : 'text', file);
    },
    readdirSync: (path) => JSON.parse(asked('names', path)),
    writeFileSync: (path, data) => {
      asked('write', path, typeof data === 'string' || ArrayBuffer.isView(data) ? data : String(data));
    },
  };
  const console = { log: out, info: out, debug: out, error: err, warn: err, trace: err };
  const define = (name, value, enumerable) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable });
  define('console', console, true);
  define('process', process, true);
  define('__host', Object.freeze({ fs, process }), false);
  return (...failed) => failed.length > 0 ? described(failed[0]) : String(Number(process.exitCode ?? 0) | 0);
})()`;
