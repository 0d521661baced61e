/**
 * Starts the server's own program, which works on its database and files. It is part of an installation, and
 * reads the settings of its working directory.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { isRecord } from '../../contracts/is-record.ts';
import type { Cli } from './cli.ts';
import { CliError } from './errors.ts';

const PROGRAM = fileURLToPath(new URL('../../dev/server/program.ts', import.meta.url));

/** @returns what the program answers @throws CliError */
export async function runOnServer(cli: Cli, name: string, options: object): Promise<unknown> {
  if (!existsSync(PROGRAM))
    throw new CliError('This is not the installation of a server.', {
      code: 'not_a_server',
      hint: 'Run it in the folder of the server, or with Docker: docker compose run --rm api server …',
    });
  const child = spawn(process.execPath, ['--no-warnings', PROGRAM, name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // Not as an argument, which others on the machine could read.
  child.stdin.on('error', () => undefined).end(JSON.stringify(options));
  // Ctrl-C of a terminal reaches the program by itself; other signals to this process are passed on.
  const stop = (): void => void child.kill('SIGTERM');
  cli.signal.addEventListener('abort', stop, { once: true });
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  let answer: Record<string, unknown> = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const parsed: unknown = JSON.parse(line);
    if (!isRecord(parsed)) continue;
    if (typeof parsed['say'] === 'string') cli.say(parsed['say']);
    else answer = parsed;
  }
  const code = await exited;
  cli.signal.removeEventListener('abort', stop);
  if (typeof answer['error'] === 'string') throw new CliError(answer['error'], { code: 'server_command' });
  if (code !== 0 || !('result' in answer))
    throw new CliError('The command did not finish; the lines above say why.', { code: 'server_command' });
  return answer['result'];
}
