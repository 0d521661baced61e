/** The local Temporal server of the embedded set-up, on a SQLite file, tuned as docs/architecture.md says. */
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { childEnv } from '../config/env.ts';
import { SEARCH_ATTRIBUTES } from '../contracts/temporal.ts';
import { endProcess, listProcesses, signal, spawnServer, waitForEnd, type Exit, type ServerProcess } from './os-process.ts';
import { choosePort } from './ports.ts';
import { findTemporalBinary, type Progress } from './temporal-binary.ts';

export type TemporalOptions = {
  /** The database is `<dataDir>/temporal/temporal.db`. The caller makes sure that nobody else uses the folder. */
  dataDir: string;
  /** Undefined: the usual one (7233, 8233) if free, else any free one; 0: any free one. */
  port?: number | undefined;
  uiPort?: number | undefined;
  /** Made beside `default`. */
  namespaces?: readonly string[];
  /** Trades the safety of the data on a power failure for speed. */
  throwaway?: boolean;
  /** Over the server's defaults and our own. */
  dynamicConfig?: Readonly<Record<string, string | number>>;
  /** Where the UI has payloads decrypted. */
  codecEndpoint?: string;
  progress?: Progress;
  /** Called when there is a process, before it serves. */
  spawned?: (pid: number) => Promise<void>;
  /** Gives up a download or build. */
  abort?: AbortSignal;
};

export type EmbeddedTemporal = {
  /** host:port of the frontend (gRPC). */
  address: string;
  port: number;
  uiUrl: string;
  uiPort: number;
  pid: number;
  exited: Promise<Exit>;
  /** Ends the server within 10 s, in order if possible. */
  stop(): Promise<void>;
};

export const temporalStop = [{ signal: 'SIGTERM', waitMs: 8_000 }] as const;

const readyTimeoutMs = 60_000;
const host = '127.0.0.1';

/** docs/adr/0009: measured. With the default of 20 a hop waits about 45 ms after a short burst. */
const tuning = {
  'history.transferProcessorMaxPollRPS': 5000,
  'history.timerProcessorMaxPollRPS': 5000,
  'history.visibilityProcessorMaxPollRPS': 5000,
  /** With the default of a second, every timer below takes a whole one: a wait of 10 ms, the first pauses of a retry. */
  'history.timerProcessorMaxTimeShift': '"10ms"',
};

/**
 * Starts a Temporal server on the data of `dataDir`, ending one that was left there first. Resolves when the frontend serves
 * every namespace. A database whose first start was cut short is made anew.
 */
export async function startTemporal(options: TemporalOptions): Promise<EmbeddedTemporal> {
  const { dataDir, namespaces = [], throwaway = false, progress = () => {} } = options;
  mkdirSync(join(dataDir, 'temporal'), { recursive: true, mode: 0o700 });
  const folder = join(realpathSync(dataDir), 'temporal');
  const database = join(folder, 'temporal.db');
  const complete = join(folder, 'complete');
  await endLeftover(database);
  if (!existsSync(complete)) {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${database}${suffix}`, { force: true });
  }
  const binary = await findTemporalBinary(progress, options.abort);
  const port = await choosePort({ what: 'Temporal', wanted: options.port, usual: 7233 });
  const uiPort = await choosePort({ what: "Temporal's UI", wanted: options.uiPort, usual: 8233 });
  const logFile = join(dataDir, 'temporal.log');
  const server = await spawnServer({
    command: binary, cwd: folder, logFile, env: temporalEnv(),
    args: [
      'server', 'start-dev', '--log-level', 'warn', '--ip', host, '--port', String(port), '--ui-port', String(uiPort), '--db-filename', database,
      '--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', `synchronous=${throwaway ? 'off' : 'normal'}`,
      ...Object.entries({ ...tuning, ...options.dynamicConfig }).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]),
      ...Object.values(SEARCH_ATTRIBUTES).flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
      ...namespaces.flatMap((name) => ['--namespace', name]),
      ...(options.codecEndpoint === undefined ? [] : ['--ui-codec-endpoint', options.codecEndpoint]),
    ],
  });
  const stop = () => endProcess(server.pid, temporalStop);
  const address = `${host}:${port}`;
  try {
    await options.spawned?.(server.pid);
    await waitUntilReady(server, address, ['default', ...namespaces], logFile);
  } catch (error) {
    await stop();
    throw error;
  }
  writeFileSync(complete, '');
  return { address, port, uiUrl: `http://${host}:${uiPort}`, uiPort, pid: server.pid, exited: server.exited, stop };
}

/** The CLI reads TEMPORAL_* variables and a profile of its own, which would win over our flags. */
function temporalEnv(): Record<string, string> {
  return Object.fromEntries(Object.entries(childEnv({})).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

async function waitUntilReady(server: ServerProcess, address: string, namespaces: readonly string[], logFile: string): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  let last: unknown;
  while (!server.hasExited() && Date.now() < deadline) {
    try {
      const connection = await Connection.connect({ address, connectTimeout: 1_000 });
      try {
        for (const namespace of namespaces) await connection.workflowService.describeNamespace({ namespace });
        return;
      } finally {
        await connection.close();
      }
    } catch (error) {
      last = error;
      await sleep(50);
    }
  }
  const tail = readFileSync(logFile, 'utf8').trim().split('\n').slice(-10).join('\n');
  throw new Error(`Temporal did not start. The end of ${logFile}:\n${tail}`, { cause: last });
}

async function endLeftover(database: string): Promise<void> {
  const left = (await listProcesses()).filter(({ command }) => command.includes(` server start-dev `) && command.includes(` --db-filename ${database} `));
  const pids = left.map(({ pid }) => pid);
  for (const pid of pids) signal(pid, 'SIGTERM');
  if (await waitForEnd(pids, 5_000)) return;
  for (const pid of pids) signal(pid, 'SIGKILL');
  if (!(await waitForEnd(pids, 5_000))) throw new Error(`Process ${pids.join(', ')} of an earlier Temporal server on ${database} cannot be ended.`);
}
