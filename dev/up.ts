/** `npm start`: runs all of Cadenza in one terminal, until Ctrl-C. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { loadEnv } from '../config/env.ts';
import { InstanceRuns } from './instance.ts';
import { startStack, type Programs, type Stack, type StackStart } from './stack.ts';

/** Further signals within this time count as repetitions of the first one. */
const IGNORE_REPEATS_MS = 10_000;

/**
 * Runs the stack until a signal. Exits with 0 after an orderly stop, and with 1 if the stack did not start.
 */
export async function up(programs: Programs): Promise<void> {
  const started = Date.now();
  const seconds = () => `${((Date.now() - started) / 1000).toFixed(1)} s`;
  const print = (line: string) => process.stdout.write(`[${seconds()}] ${line}\n`);
  let stack: StackStart;
  try {
    stack = startStack(loadEnv(), programs, print);
  } catch (error) {
    fail(error);
  }
  let stoppingSince: number | undefined;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (stoppingSince === undefined) {
        stoppingSince = Date.now();
        print('stopping: draining api and worker, then the servers …');
        void stack.stop().then(() => {
          print('stopped');
          process.exit(0);
        });
      } else if (Date.now() - stoppingSince > IGNORE_REPEATS_MS) {
        process.exit(1);
      }
    });
  }
  const built = buildConsole().then((problem) => {
    // Ctrl-C also ends the build.
    if (problem !== null && stoppingSince === undefined) print(`the console could not be built: ${problem}`);
  });
  // A closed terminal must not end this process before it has stopped the others.
  process.stdout.on('error', () => {});
  try {
    const [ready] = await Promise.all([stack.ready, built]);
    process.stdout.write(summary(ready));
  } catch (error) {
    if (stoppingSince !== undefined) return;
    fail(error);
  }
}

/**
 * Builds the console beside the start of the servers, if its sources have changed. Without it everything else
 * works, so a failure is a warning.
 * @returns what went wrong, or null
 */
async function buildConsole(): Promise<string | null> {
  const program = fileURLToPath(new URL('build-console.ts', import.meta.url));
  const build = spawn(process.execPath, ['--no-warnings', program], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [build.stdout, build.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const code = await new Promise((resolve) => {
    build.on('error', () => resolve(null));
    build.on('close', resolve);
  });
  return code === 0 ? null : output.trim();
}

/** Prints the reason in one line and exits. */
function fail(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${error instanceof InstanceRuns ? message : `Cadenza did not start: ${message}`}\n`);
  process.exit(1);
}

function summary({ baseUrl, grpcPort, temporalAddress, temporalUiUrl, admin, dataDir }: Stack): string {
  const password = admin?.generated
    ? `${admin.password}   (shown once; kept in ${dataDir}/admin-password)`
    : 'the password of ADMIN_PASSWORD';
  const lines = [
    '',
    `  Console      ${baseUrl}/console/`,
    `  API          ${baseUrl}   (reference: ${baseUrl}/docs)`,
    ...(grpcPort === undefined ? [] : [`  A2A (gRPC)   ${new URL(baseUrl).hostname}:${grpcPort}`]),
    `  Temporal     ${temporalAddress}`,
    ...(temporalUiUrl ? [`  Temporal UI  ${temporalUiUrl}`] : []),
    `  Data, logs   ${dataDir}`,
    ...(admin && admin.password === undefined
      ? [`  Admin        ${admin.username}   (first password: ${dataDir}/admin-password)`]
      : []),
    ...(admin?.password !== undefined ? [`  Admin        ${admin.username} / ${password}`] : []),
    '',
    `ready ${baseUrl}`,
  ];
  return `${lines.join('\n')}\n`;
}

export async function main(): Promise<void> {
  const program = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  await up({
    migrate: program('../db/migrate.ts'),
    api: program('../api/main.ts'),
    worker: program('../worker/main.ts'),
    backups: program('server/timetable.ts'),
  });
}

if (import.meta.main) await main();
