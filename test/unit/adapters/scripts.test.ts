import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { createScriptRunner, type Script } from '../../../adapters/sandbox/run-script.ts';
import { createTurns } from '../../../adapters/sandbox/turns.ts';
import type { ScriptOutput } from '../../../adapters/sandbox/script-types.ts';
import { Fault } from '../../../contracts/fault.ts';
import { allowedMs } from '../../support/machine.ts';

// A busy machine needs time for the others.
const runner = createScriptRunner({ threads: 2, memoryMib: 32, seconds: 120 });
const impatient = createScriptRunner({ threads: 2, memoryMib: 32, seconds: 0.3 });

function run(
  code: string,
  more: Partial<Script> & { by?: typeof runner; onOutput?: Parameters<typeof runner.run>[2] } = {},
  signal = new AbortController().signal,
): Promise<ScriptOutput> {
  const { by = runner, onOutput, ...changes } = more;
  const script: Script = {
    code,
    argv: [],
    env: {},
    stdin: '',
    files: null,
    timeoutMs: 600_000,
    outputBytes: 100_000,
    whole: ['stdout'],
    ...changes,
  };
  return by.run(script, signal, onOutput);
}

async function faultOf(code: string, more: Parameters<typeof run>[1] = {}): Promise<unknown> {
  const error: unknown = await run(code, more).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Fault)) throw new Error(`no fault but ${String(error)}`);
  return [error.error.type.split('/').pop(), error.message];
}

let longestMs = 0;
let timer: NodeJS.Timeout;
beforeAll(() => {
  let last = performance.now();
  timer = setInterval(() => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - last);
    last = now;
  }, 10);
});
afterAll(() => clearInterval(timer));

test('a script reads its arguments, its environment and its input, as Node has them', async () => {
  const code = `
    import { readFileSync } from 'node:fs';
    import process from 'node:process';
    const [, , first] = process.argv;
    console.log(first, process.env.place, readFileSync(process.stdin.fd, 'utf8'), readFileSync('/dev/stdin'));
    process.stdout.write('no line end');
    console.error({ a: [1] }, 2n, undefined, new TypeError('shown').message);
    process.exitCode = 3;`;
  const more = { argv: ['hello'], env: { place: 'here' }, stdin: 'Grüße' };
  expect(await run(code, more)).toEqual({
    code: 3,
    stdout: 'hello here Grüße Grüße\nno line end',
    stderr: '{"a":[1]} 2n undefined shown\n',
    cut: [],
    stopped: null,
    files: [],
  });
});

test('a script reads the files that it gets, and leaves others', async () => {
  const code = `
    import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
    const failure = (work) => { try { work(); return 'none'; } catch (error) { return error.message; } };
    const bytes = readFileSync('/files/in/a.bin');
    console.log(bytes instanceof Uint8Array, bytes.length, readFileSync('/files/in/a.bin', 'utf8'));
    console.log(readdirSync('/files/in').join(), existsSync('/files/in/b'), existsSync('/files/out/x'));
    writeFileSync('/files/out/text.txt', 'Grüße');
    writeFileSync('/files/out/bytes', new Uint8Array([0, 255]));
    console.log(readFileSync('/files/out/text.txt', 'utf8'), readdirSync('/files/out').length);
    console.log(failure(() => writeFileSync('/files/in/new', 'x')));
    console.log(failure(() => writeFileSync('/files/out/../x', 'x')));
    console.log(failure(() => readFileSync('/etc/passwd')));
    console.log(failure(() => writeFileSync('/files/out/large', 'x'.repeat(8 * 1024 * 1024))));
    for (let i = 2; i < 32; i++) writeFileSync('/files/out/' + i, '');
    console.log(failure(() => writeFileSync('/files/out/more', '')));`;
  const files = [{ name: 'a.bin', bytes: Buffer.from('ä!') }];
  const { stdout, files: left } = await run(code, { files });
  expect(stdout.trim().split('\n')).toEqual([
    'true 3 ä!',
    'a.bin false false',
    'Grüße 2',
    'a script can write to /files/out only',
    '"../x" cannot be the name of a file',
    'there is no file "/etc/passwd": a script has /files/in and /files/out only',
    'the files of a script have at most 8388608 bytes',
    'a script leaves at most 32 files',
  ]);
  expect(left.slice(0, 2).map(({ name, bytes }) => [name, Buffer.from(bytes).toString('hex')])).toEqual([
    ['text.txt', Buffer.from('Grüße').toString('hex')],
    ['bytes', '00ff'],
  ]);
  expect(await run(`import { readFileSync } from 'fs'; readFileSync('/files/in/a')`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('only its standard input can be read'),
    files: [],
  });
});

test('what a script writes is told while it runs, in order', async () => {
  const told: string[] = [];
  const ending = new AbortController();
  const note = (stream: string, text: string): void => {
    told.push(`${stream}: ${text}`);
    if (text.includes('3')) ending.abort(new Error('all is told'));
  };
  const code = `console.log(1); console.error(2); console.log(3); for (;;);`;
  await expect(run(code, { onOutput: note }, ending.signal)).rejects.toThrow('all is told');
  expect(told).toEqual(['stdout: 1\n', 'stderr: 2\n', 'stdout: 3\n']);
});

test('the language is ES2024', async () => {
  const code = `console.log(Object.groupBy([1, 2, 3], (n) => (n % 2 ? 'odd' : 'even')),
    /[\\p{L}--[a-z]]/v.test('A'), typeof Promise.withResolvers, 'a\\uD800'.isWellFormed(),
    new Date(0).getTimezoneOffset())`;
  expect((await run(code)).stdout).toBe('{"odd":[1,3],"even":[2]} true function false 0\n');
});

test('a script ends with the exit code that Node would give', async () => {
  const codeOf = async (code: string): Promise<[number, string]> => {
    const { code: exit, stderr } = await run(code);
    return [exit, stderr.split('\n')[0] ?? ''];
  };
  expect(await codeOf(`process.exit(7); console.error('never')`)).toEqual([7, '']);
  expect(await codeOf(`try { process.exit(9) } catch {} finally { console.error('never') }`)).toEqual([
    9,
    '',
  ]);
  expect(await codeOf(`throw new TypeError('bad')`)).toEqual([1, 'TypeError: bad']);
  expect(await codeOf(`throw { a: 1 }`)).toEqual([1, 'Uncaught {"a":1}']);
  expect(await codeOf(`await Promise.reject(new Error('later'))`)).toEqual([1, 'Error: later']);
  expect((await codeOf(`not a script`))[1]).toMatch(/^SyntaxError: /);
  expect((await codeOf(`await new Promise(() => {})`))[0]).toBe(13);
});

test('a script has no files, modules, network or engine, and no names of our files', async () => {
  const code = `
    const failures = [];
    for (const name of ['node:child_process', 'https://example.com/a.js', './a.js', 'constructor'])
      await import(name).catch((error) => failures.push(String(error), String(error.stack)));
    const { readFileSync } = await import('fs');
    try { readFileSync('/etc/passwd') } catch (error) { failures.push(error.message) }
    const global = (() => {}).constructor('return globalThis')();
    console.log(failures.join(' '), typeof require, typeof fetch, typeof WebAssembly, typeof setTimeout,
      Object.keys(global), Object.keys(process), global.__write, global.__exit, global.__input);`;
  const { stdout, code: exit } = await run(code);
  expect(stdout).toContain('a script has no files');
  expect(stdout).toContain('there is no module "constructor"');
  expect(stdout).not.toContain('script-thread');
  expect(stdout).not.toMatch(/root:|file:/);
  expect(stdout).toContain('undefined undefined undefined undefined');
  expect(exit).toBe(0);
});

test('tricks with prototypes and globals stay in the script', async () => {
  const hostile = `
    Object.prototype.stopped = 'time'; Object.prototype.toString = () => { throw 1 };
    Array.prototype.join = () => 'forged'; JSON.stringify = () => 'forged'; globalThis.process = null;
    Error.prototype.toString = () => ({}); Promise.prototype.then = null;
    console.log('still here'); throw new Error('x')`;
  expect(await run(hostile)).toMatchObject({ code: 1, stopped: null });
  expect(await run(`console.log([1, 2].join(), JSON.stringify({ a: 1 }), typeof process)`)).toMatchObject({
    code: 0,
    stdout: '1,2 {"a":1} object\n',
  });
});

test('every endless script ends at its time', async () => {
  const endless = [
    `for (;;);`,
    `try { for (;;); } catch {} finally { for (;;); }`,
    // Each job forgets the one before; a chain of promises could reach the memory's bound first.
    `const again = () => void Promise.resolve().then(again); again(); await new Promise(() => {})`,
    `/^(a+)+$/.test('a'.repeat(40) + 'b')`,
    `[1, 2].sort(() => { for (;;); })`,
    `Error.prototype.toString = () => { for (;;); }; throw new Error('x')`,
  ];
  const faults = await Promise.all(endless.map((code) => faultOf(code, { by: impatient })));
  expect(faults).toEqual(endless.map(() => ['timeout', 'The script did not end within 0.3 s']));
});

test('every script that needs too much memory ends with a clear error', async () => {
  for (const code of [
    `const kept = []; for (;;) kept.push(new Uint8Array(1e6))`,
    `'x'.repeat(2 ** 29)`,
    `let nested = {}; for (let i = 0; i < 1e7; i++) nested = { nested }`,
  ])
    expect(await faultOf(code)).toEqual(['runtime', 'The script needs more than 32 MiB of memory']);
  expect(await run(`const deeper = () => deeper(); deeper()`)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^RangeError: Maximum call stack/),
  });
  expect(await run(`JSON.parse('['.repeat(1e6))`)).toMatchObject({ code: 1, stopped: null });
});

test('output that the task returns is never cut; other output is', async () => {
  const many = `for (let i = 0; i < 2000; i++) console.log('é'.repeat(50))`;
  expect(await faultOf(many)).toEqual(['runtime', 'The script wrote more than 100000 bytes to stdout']);
  expect(await faultOf(`for (;;) console.log('endless')`)).toEqual([
    'runtime',
    'The script wrote more than 100000 bytes to stdout',
  ]);
  const cut = await run(`${many}; console.error('done')`, { whole: ['stderr'] });
  expect(cut).toMatchObject({ code: 0, stderr: 'done\n', cut: ['stdout'] });
  expect(Buffer.byteLength(cut.stdout)).toBeLessThanOrEqual(100_000);
  expect(cut.stdout).not.toContain('\uFFFD');
});

test('a script ends when its call is cancelled, and the next one has its turn', async () => {
  const cancelling = new AbortController();
  const ends = [1, 2, 3].map(() => run(`for (;;);`, {}, cancelling.signal));
  const next = run(`console.log('next')`);
  cancelling.abort(new Error('cancelled'));
  for (const end of ends) await expect(end).rejects.toThrow('cancelled');
  expect((await next).stdout).toBe('next\n');
});

test('a script whose task ends before its turn comes is not run', async () => {
  const endless = run(`for (;;);`, { by: impatient });
  const busy = [endless, run(`for (;;);`, { by: impatient })].map((one) => one.catch(() => null));
  expect(await faultOf(`console.log(1)`, { by: impatient, timeoutMs: 1 })).toEqual([
    'timeout',
    'The script did not get its turn in time',
  ]);
  await Promise.all(busy);
});

test('at most so many run at once, in order', async () => {
  const turns = createTurns(2);
  const begun: number[] = [];
  let running = 0;
  const works = [1, 2, 3, 4, 5].map((id) =>
    turns.take(new AbortController().signal, async () => {
      begun.push(id);
      expect(++running).toBeLessThanOrEqual(2);
      await sleep(5);
      running--;
      if (id === 2) throw new Error('its own');
    }),
  );
  const ended = await Promise.allSettled(works);
  expect(begun).toEqual([1, 2, 3, 4, 5]);
  expect(ended.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ]);
});

test('none of these scripts kept the worker from other work', () => {
  expect(longestMs).toBeLessThan(allowedMs(1_000));
});
