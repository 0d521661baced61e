/** Runs one command line, and gives its exit code. */
import { proposeCompletions, run } from '@stricli/core';

import { createApp } from './app.ts';
import { Cli, type Surroundings } from './core/cli.ts';
import type { Context } from './core/command.ts';
import { EXIT, type ExitCode } from './core/errors.ts';
import { proposeRecords } from './core/records.ts';
import { report, wantsJson } from './core/report.ts';
import { printable, safeJson } from './core/text.ts';

/** How long Ctrl-C waits for a token that is on its way into the configuration. */
const UNFINISHED_MS = 10_000;

export async function runCommandLine(surroundings: Surroundings): Promise<ExitCode> {
  const { args, stdout, signal } = surroundings;
  if (args[0] === '__complete') return complete(surroundings);
  let exitCode: ExitCode = EXIT.good;
  let cli: Cli | undefined;
  const complaints: string[] = [];
  const context: Context & { process: { exitCode?: number | string | null; env: Record<string, string> } } = {
    process: {
      stdout: { write: (text) => void stdout.write(printable(text)) },
      stderr: { write: (text) => void complaints.push(text) },
      env: { STRICLI_NO_COLOR: '1' },
    },
    start: async (flags, body) => {
      try {
        cli = new Cli(surroundings, flags);
        exitCode = (await body(cli)) ?? EXIT.good;
      } catch (error) {
        if (!signal.aborted) exitCode = report(surroundings, error);
      }
    },
    propose: async () => [],
  };
  const interrupted = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => interrupted.resolve(), { once: true });
  await Promise.race([run(createApp(), args, context), interrupted.promise]);
  if (signal.aborted) {
    await Promise.race([cli?.session.settled(), pause(UNFINISHED_MS)]);
    return EXIT.interrupted;
  }
  const isRefused = Number(context.process.exitCode ?? 0) !== 0;
  if (complaints.length > 0) complain(surroundings, complaints.join('').trim());
  return isRefused ? EXIT.usage : exitCode;
}

/** For completion scripts: what may stand in place of the last word, with its description after a tab. */
async function complete(surroundings: Surroundings): Promise<ExitCode> {
  const { args, stdout } = surroundings;
  const words = args.slice(args[1] === '--' ? 2 : 1);
  const silent = { write: () => undefined };
  const briefs = new Map<string, string>();
  const found = await proposeCompletions(createApp(), words, {
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

/** A command line that no command understands. */
function complain(surroundings: Surroundings, detail: string): void {
  const text = wantsJson(surroundings.args) ? safeJson({ code: 'usage', detail }) : printable(detail);
  surroundings.stderr.write(`${text}\n`);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms).unref());
