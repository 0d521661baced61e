/** A platform outside of jest, with a PostgreSQL and a Temporal of its own: for measurements and pictures. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../db/migrate.ts';
import { signal } from '../../dev/os-process.ts';
import { startPostgres } from '../../dev/postgres.ts';
import { startTemporal } from '../../dev/temporal.ts';
import { CALL_TIMEOUT_MS } from '../../temporal/gateway.ts';
import { buildConsole, consoleFolder } from './chromium.ts';
import { startTestPlatform, type PlatformOptions, type TestPlatform } from './platform.ts';
import { runFolderVariable } from './run-folder.ts';
import { prepareTemporal, startTemporalOnPostgres, temporalPrograms } from './temporal-on-postgres.ts';

interface OwnOptions extends Pick<PlatformOptions, 'env' | 'worker'> {
  /** Temporal's own server with its data in PostgreSQL, as in Compose, instead of the development server. */
  temporalOnPostgres?: boolean;
}

/**
 * With the console, unless options are given. `close` removes everything, and so does the end of this
 * process, however it comes, unless it is killed.
 */
export async function startOwnPlatform(options?: OwnOptions): Promise<TestPlatform> {
  const folder = mkdtempSync(join(tmpdir(), 'cadenza-own-'));
  // State that the helpers of the tests share within a run.
  process.env[runFolderVariable] = folder;
  const servers = new Map<number, NodeJS.Signals>();
  const end = (): void => {
    for (const [pid, name] of servers) signal(pid, name);
    removeFolder(folder);
  };
  const stopProgram = (): void => process.exit(130);
  process.once('exit', end).once('SIGINT', stopProgram).once('SIGTERM', stopProgram);
  const { temporalOnPostgres = false, ...platformOptions } = options ?? {};
  const [postgres, development] = await Promise.all([
    startPostgres({
      dataDir: join(folder, 'postgres'),
      spawned: async (pid) => void servers.set(pid, 'SIGQUIT'),
    }),
    temporalOnPostgres
      ? null
      : startTemporal({
          dataDir: join(folder, 'temporal'),
          spawned: async (pid) => void servers.set(pid, 'SIGKILL'),
        }),
  ]);
  const temporal = development ?? (await startOnPostgres(postgres.url, folder));
  await Promise.all([migrate(postgres.url), options ? undefined : buildConsole()]);
  const platform = await startTestPlatform({
    ...(options ? platformOptions : { consoleFolder }),
    // As in production: responses are checked, but not field by field.
    strictResponses: false,
    temporalCallMs: CALL_TIMEOUT_MS,
    servers: {
      database: { url: postgres.url, drop: async () => {} },
      temporal: { address: temporal.address, namespace: 'default', uiUrl: '', taskQueue: 'cadenza' },
    },
  });
  const close = async (): Promise<void> => {
    await platform.close();
    await Promise.all([postgres.stop(), temporal.stop()]);
    process.off('exit', end).off('SIGINT', stopProgram).off('SIGTERM', stopProgram);
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...platform, close };
}

async function startOnPostgres(postgresUrl: string, folder: string) {
  const programs = await temporalPrograms();
  if ('missing' in programs) throw new Error(programs.missing);
  const options = { postgresUrl, folder, namespace: 'default' };
  const databaseUrls = await prepareTemporal(programs, options);
  const { address, kill } = await startTemporalOnPostgres(programs, { ...options, databaseUrls });
  return { address, stop: kill };
}

/** Waits without letting go, as the end of a process has to: servers that end may still write into it. */
function removeFolder(folder: string): void {
  for (let attempt = 1; attempt <= 50 && existsSync(folder); attempt += 1) {
    if (attempt > 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // Tried again.
    }
  }
}
