/** Runs programs through jq-wasm, many in one call, since a call costs milliseconds. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { compile, type Json } from '../../../language/expressions/index.ts';

/** The outputs of a program, or the fact that it failed. */
export type Outcome = { outputs: Json[] } | { error: true };

interface Instance {
  raw(input: string, filter: string, flags: string[]): string | Promise<string>;
}

const require = createRequire(import.meta.url);
const file = join(dirname(require.resolve('jq-wasm')), 'build', 'jq.js');
// The package keeps one instance for ever, and an instance is dead after its first abort: so the
// build below it is evaluated anew when one has died.
const script = new Script(
  `(function (module, exports, require, __filename, __dirname) {${readFileSync(file, 'utf8')}\n})`,
  { filename: file },
);

interface CommonModule {
  exports: unknown;
}

function create(): Promise<Instance> {
  const module: CommonModule = { exports: {} };
  const load = script.runInThisContext() as (...args: unknown[]) => void;
  load(module, module.exports, require, file, dirname(file));
  const { exports } = module;
  const make = (
    typeof exports === 'function' ? exports : (exports as { default: unknown }).default
  ) as () => Promise<Instance>;
  return make();
}

let instance: Promise<Instance> | null = null;

/** Runs a filter; throws where jq fails. */
export async function raw(input: string, filter: string, flags: string[]): Promise<string> {
  instance ??= create();
  try {
    // Awaited here, so that this block catches a failure.
    return await (await instance).raw(input, filter, flags);
  } catch (error) {
    if (!/compile error|syntax error/.test(String(error))) instance = null;
    throw error;
  }
}

/** Drops the instance; the next call creates a new one. */
export function renew(): void {
  instance = null;
}

const envelope = (program: string): string => `(try {outputs: [limit(50; ${program})]} catch {error: true})`;

/** Outcomes by jq; null if jq could not run the program at all. */
export async function runOracle(programs: string[], input: Json): Promise<(Outcome | null)[]> {
  try {
    const output = await raw(JSON.stringify([input]), `.[0] | ${programs.map(envelope).join(',\n')}`, ['-c']);
    const lines = output.trim().split('\n');
    // The oracle prints one object for each line.
    if (lines.length === programs.length) return lines.map((line) => JSON.parse(line) as Outcome);
  } catch {
    // One of the programs does not compile; find it.
  }
  if (programs.length === 1) return [null];
  const middle = programs.length >> 1;
  return [
    ...(await runOracle(programs.slice(0, middle), input)),
    ...(await runOracle(programs.slice(middle), input)),
  ];
}

export function runOurs(program: string, input: Json): Outcome | { crash: string } {
  try {
    return compile(envelope(program)).first(input) as Outcome;
  } catch (error) {
    return { crash: String(error) };
  }
}
