/** `npm start`: all of Cadenza in one terminal, until Ctrl-C. */
import { fileURLToPath } from 'node:url';
import { loadEnv } from '../config/env.ts';
import { InstanceRuns } from './instance.ts';
import { startStack, type Programs, type Stack } from './stack.ts';

/** Within this time further signals are taken as repetitions of the first one. */
const ignoreRepeatsMs = 10_000;

/** Runs the stack until a signal; ends this process with 0 after an orderly stop, 1 if it did not come up. */
export async function up(programs: Programs): Promise<void> {
  const started = Date.now();
  const seconds = () => `${((Date.now() - started) / 1000).toFixed(1)} s`;
  const say = (line: string) => process.stdout.write(`[${seconds()}] ${line}\n`);
  const stack = startStack(loadEnv(), programs, say);
  let stoppingSince: number | undefined;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (stoppingSince === undefined) {
        stoppingSince = Date.now();
        say('stopping: draining api and worker, then the servers …');
        void stack.stop().then(() => {
          say('stopped');
          process.exit(0);
        });
      } else if (Date.now() - stoppingSince > ignoreRepeatsMs) {
        process.exit(1);
      }
    });
  }
  // A closed terminal must not end this process before it has stopped the others.
  process.stdout.on('error', () => {});
  try {
    process.stdout.write(summary(await stack.ready));
  } catch (error) {
    if (stoppingSince !== undefined) return;
    process.stderr.write(`${error instanceof InstanceRuns ? error.message : `Cadenza did not start: ${error instanceof Error ? error.message : String(error)}`}\n`);
    process.exit(1);
  }
}

function summary({ baseUrl, grpcPort, temporalAddress, temporalUiUrl, admin, dataDir }: Stack): string {
  const lines = [
    '',
    `  API          ${baseUrl}   (reference: ${baseUrl}/docs)`,
    ...(grpcPort === undefined ? [] : [`  A2A (gRPC)   ${new URL(baseUrl).hostname}:${grpcPort}`]),
    `  Temporal     ${temporalAddress}`,
    ...(temporalUiUrl ? [`  Temporal UI  ${temporalUiUrl}`] : []),
    `  Data, logs   ${dataDir}`,
    ...(admin && admin.password === undefined ? [`  Admin        ${admin.username}   (first password: ${dataDir}/admin-password)`] : []),
    ...(admin?.password !== undefined ? [`  Admin        ${admin.username} / ${admin.generated ? `${admin.password}   (shown once; kept in ${dataDir}/admin-password)` : 'the password of ADMIN_PASSWORD'}`] : []),
    '',
    `ready ${baseUrl}`,
  ];
  return `${lines.join('\n')}\n`;
}

export async function main(): Promise<void> {
  const program = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  await up({ migrate: program('../db/migrate.ts'), api: program('../api/main.ts'), worker: program('../worker/main.ts') });
}

if (import.meta.main) await main();
