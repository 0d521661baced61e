/** Runs one command line, and gives its exit code. */
import { proposeCompletions, run } from '@stricli/core';

import { createApp } from './app.ts';
import { Cli, type Surroundings } from './core/cli.ts';
import type { Context } from './core/command.ts';
import { EXIT, failureLines, failureOf, type ExitCode } from './core/errors.ts';
import { painter, printable, safeJson } from './core/text.ts';

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
async function complete({ args, stdout }: Surroundings): Promise<ExitCode> {
  const silent = { write: () => undefined };
  const found = await proposeCompletions(createApp(), args.slice(args[1] === '--' ? 2 : 1), {
    process: { stdout: silent, stderr: silent },
    start: async () => undefined,
  });
  for (const { completion, brief } of found) stdout.write(`${completion}\t${brief}\n`);
  return EXIT.good;
}

/** A command line that no command understands. */
function complain(surroundings: Surroundings, detail: string): void {
  const text = wantsJson(surroundings.args) ? safeJson({ code: 'usage', detail }) : printable(detail);
  surroundings.stderr.write(`${text}\n`);
}

function report({ args, stderr, env }: Surroundings, error: unknown): ExitCode {
  const failure = failureOf(error);
  const { exitCode, problem, ...fields } = failure;
  if (wantsJson(args)) stderr.write(`${safeJson({ ...problem, ...fields })}\n`);
  else {
    const paint = painter(stderr.isTTY === true && !env['NO_COLOR'] && !args.includes('--no-color'));
    const [first = '', ...others] = failureLines(failure).map(printable);
    stderr.write(`${[paint('red', first), ...others].join('\n')}\n`);
  }
  return exitCode;
}

/** Whether errors are JSON too: `-o json` or `-o jsonl`. */
function wantsJson(args: readonly string[]): boolean {
  const before = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  return before.some((word, index) =>
    word === '-o' || word === '--output'
      ? /^jsonl?$/.test(before[index + 1] ?? '')
      : /^--output=jsonl?$/.test(word),
  );
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms).unref());
