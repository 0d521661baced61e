/** Runs one command line, and gives its exit code. */
import { proposeCompletions, run, type Application } from '@stricli/core';

import { createApp } from './app.ts';
import { Cli, type Surroundings } from './core/cli.ts';
import type { Context } from './core/command.ts';
import { EXIT, usageError, type ExitCode } from './core/errors.ts';
import { proposeRecords } from './core/records.ts';
import { report } from './core/report.ts';
import { printable, shellWord } from './core/text.ts';

/** How long Ctrl-C waits for a token that is on its way into the configuration. */
const UNFINISHED_MS = 10_000;

export async function runCommandLine(surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, signal } = surroundings;
  const [first, ...others] = surroundings.args;
  if (first === '__complete') return complete(surroundings);
  const turned = withFlagsLast(surroundings.args);
  if (turned !== undefined)
    return report(surroundings, usageError(`Flags come after the command: ${turned}`));
  const args = first === '--version' ? ['version', '-o', 'name', ...others] : surroundings.args;
  let exitCode: ExitCode = EXIT.good;
  let cli: Cli | undefined;
  let typed: ReadonlyMap<string, string> = new Map();
  const complaints: string[] = [];
  const context: Context & { process: { exitCode?: number | string | null; env: Record<string, string> } } = {
    process: {
      stdout: { write: (text) => void stdout.write(printable(text)) },
      stderr: { write: (text) => void complaints.push(text) },
      env: { STRICLI_NO_COLOR: '1' },
    },
    start: async (flags, fields, body) => {
      typed = fields;
      try {
        cli = new Cli(surroundings, flags);
        exitCode = (await body(cli)) ?? EXIT.good;
      } catch (error) {
        if (!signal.aborted) exitCode = report(surroundings, error, { typed, source: cli?.session.source });
      }
    },
    propose: async () => [],
  };
  const interrupted = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => interrupted.resolve(), { once: true });
  const app = await createApp(args[0]);
  await Promise.race([run(app, args, context), interrupted.promise]);
  if (signal.aborted) {
    await Promise.race([cli?.session.settled(), pause(UNFINISHED_MS)]);
    return EXIT.interrupted;
  }
  const isRefused = Number(context.process.exitCode ?? 0) !== 0;
  if (complaints.length > 0)
    report(surroundings, usageError(complaints.join('').trim(), adviceOn(app, args)));
  return isRefused ? EXIT.usage : exitCode;
}

/** The command line that was meant, if flags of all commands come before the command. */
function withFlagsLast(args: readonly string[]): string | undefined {
  let at = 0;
  for (let word = args[0]; word?.startsWith('-') === true; word = args[at]) {
    const [name = ''] = word.split('=');
    if (BARE.has(name)) at += 1;
    else if (VALUED.has(name)) at += word.includes('=') ? 1 : 2;
    else return undefined;
  }
  const [flags, command] = [args.slice(0, at), args.slice(at)];
  if (flags.length === 0 || command.length === 0) return undefined;
  const end = command.includes('--') ? command.indexOf('--') : command.length;
  const words = ['cadenza', ...command.slice(0, end), ...flags, ...command.slice(end)];
  return words.map(shellWord).join(' ');
}

/** Flags of every command, without and with a value. */
const BARE = new Set(['--quiet', '-q', '--no-color']);
const VALUED = new Set(['--output', '-o', '--jq', '--profile']);

/** For completion scripts: what may stand in place of the last word, with its description after a tab. */
async function complete(surroundings: Surroundings): Promise<ExitCode> {
  const { args, stdout } = surroundings;
  const words = args.slice(args[1] === '--' ? 2 : 1);
  const silent = { write: () => undefined };
  const briefs = new Map<string, string>();
  const found = await proposeCompletions(await createApp(words.length > 1 ? words[0] : ''), words, {
    process: { stdout: silent, stderr: silent },
    start: async () => undefined,
    async propose(kind, partial) {
      const flags = { output: undefined, jq: undefined, quiet: true, noColor: true } as const;
      const cli = new Cli(surroundings, { ...flags, profile: profileIn(words) });
      // Nobody could read what is wrong in the middle of a command line.
      const records = await proposeRecords(cli, kind, partial).catch(() => []);
      await cli.session.settled();
      for (const { word, brief } of records) briefs.set(word, brief);
      return records.map(({ word }) => word);
    },
  });
  for (const { completion, brief } of found)
    stdout.write(`${completion}\t${briefs.get(completion) ?? brief}\n`);
  return EXIT.good;
}

/** The words are not parsed yet while the shell completes them. */
function profileIn(words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => word === '--profile' || word.startsWith('--profile='));
  if (at < 0) return undefined;
  return words[at]?.split('=')[1] ?? words[at + 1];
}

/** `apply` and `diff` take their folder by a flag; else see the help. */
function adviceOn(app: Application<Context>, args: readonly string[]): string {
  const [first = '', second = ''] = args;
  const isFolder = (first === 'apply' || first === 'diff') && !second.startsWith('-') && args.length === 2;
  return isFolder ? `A folder is given by -f: cadenza ${first} -f ${second}` : helpOf(app, args);
}

/** Where the user reads how the command that they meant is written. */
function helpOf({ root }: Application<Context>, args: readonly string[]): string {
  const words = ['cadenza'];
  let target: typeof root | undefined = root;
  for (const word of args) {
    if (!('getRoutingTargetForInput' in target)) break;
    target = target.getRoutingTargetForInput(word);
    if (target === undefined) break;
    words.push(word);
  }
  return `See: ${words.join(' ')} --help`;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms).unref());
