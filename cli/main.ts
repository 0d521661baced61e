/** The command line's process: runs one command, and exits with what it came to. */
import { runCommandLine } from './run.ts';

export async function main(): Promise<never> {
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt.abort());
  // The reader of a pipe, such as `head`, may have seen enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const exitCode = await runCommandLine({
    args: process.argv.slice(2),
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: interrupt.signal,
  });
  process.exit(exitCode);
}
