/** What a failed command says on stderr: lines for people, or JSON. */
import type { Surroundings } from './cli.ts';
import { failureLines, failureOf, type ExitCode, type Typing } from './errors.ts';
import { painter, printable, safeJson } from './text.ts';

export function report({ args, stderr, env }: Surroundings, error: unknown, typing: Typing = {}): ExitCode {
  const failure = failureOf(error);
  const { exitCode, problem, ...fields } = failure;
  if (wantsJson(args)) stderr.write(`${safeJson({ ...problem, ...fields })}\n`);
  else {
    const paint = painter(stderr.isTTY === true && !env['NO_COLOR'] && !args.includes('--no-color'));
    const [first = '', ...others] = failureLines(failure, typing).map(printable);
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
