/**
 * The local Temporal server of the embedded setup, on a SQLite file, tuned as docs/architecture.md describes.
 */
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { childEnv } from '../config/env.ts';
import { SEARCH_ATTRIBUTES } from '../contracts/temporal.ts';
import { CONNECTION_INTERCEPTORS } from '../temporal/closed-connection.ts';
import {
  endProcess,
  listProcesses,
  signal,
  spawnServer,
  waitForEnd,
  type Exit,
  type ServerProcess,
  type SystemProcess,
} from './os-process.ts';
import { choosePort, startOnFreePorts } from './ports.ts';
import { findTemporalBinary, type Progress } from './temporal-binary.ts';
import { endWhenStuck } from './temporal-watch.ts';

export type TemporalOptions = {
  /**
   * The database is `<dataDir>/temporal/temporal.db`. The caller ensures that nothing else uses the folder.
   */
  dataDir: string;
  /** 0 means any free port. Default: the usual one (7233, 8233) if free, else any free port. */
  port?: number | undefined;
  uiPort?: number | undefined;
  /** The ports of an earlier start. */
  otherPorts?: EmbeddedTemporal['otherPorts'] | undefined;
  /** Namespaces to create beside `default`. */
  namespaces?: readonly string[];
  /** Trades durability on power failure for speed. */
  throwaway?: boolean;
  /** Overrides the server's defaults and `tuning`. */
  dynamicConfig?: Readonly<Record<string, string | number>>;
  /** Endpoint with which the UI decrypts payloads. */
  codecEndpoint?: string;
  progress?: Progress;
  /** Called when the server has to be ended because it is stuck (`temporal-watch.ts`). */
  stuck?: (reason: string) => void;
  /** Called once the process exists, before it serves. */
  spawned?: (pid: number) => Promise<void>;
  /** Aborts a download or build. */
  abort?: AbortSignal;
};

export type EmbeddedTemporal = {
  /** host:port of the frontend (gRPC). */
  address: string;
  port: number;
  uiUrl: string;
  uiPort: number;
  /** Ports of its HTTP API and metrics. Without them the server would choose new ones at each start. */
  otherPorts: readonly [http: number, metrics: number];
  pid: number;
  exited: Promise<Exit>;
  /** Ends the server within 10 s, gracefully if possible. */
  stop(): Promise<void>;
};

export const TEMPORAL_STOP = [{ signal: 'SIGTERM', waitMs: 8_000 }] as const;

const READY_TIMEOUT_MS = 120_000;
const HOST = '127.0.0.1';
/** Of the file with options of Temporal's CLI. */
const CLI_ENVIRONMENT = 'cadenza';

/** Measured, see docs/adr/0009. With the default rates of 20, a hop takes about 45 ms after a short burst. */
const tuning = {
  /** Runs start with their owner as fairness key, so one owner's backlog does not delay the others. */
  'matching.enableFairness': 'true',
  /** A workflow task's answer brings the worker the activities that it has just scheduled. */
  'system.enableActivityEagerExecution': 'true',
  'history.transferProcessorMaxPollRPS': 5000,
  'history.timerProcessorMaxPollRPS': 5000,
  'history.visibilityProcessorMaxPollRPS': 5000,
  /**
   * With the default of one second, every shorter timer (a wait of 10 ms, the first pauses of a retry) takes
   * a whole second.
   */
  'history.timerProcessorMaxTimeShift': '"10ms"',
};

/**
 * Starts a Temporal server on the data in `dataDir`, ending a leftover one first. Resolves when the frontend
 * serves every namespace. A database whose first start was interrupted is created again.
 */
export async function startTemporal(options: TemporalOptions): Promise<EmbeddedTemporal> {
  const { dataDir, progress = () => {} } = options;
  mkdirSync(join(dataDir, 'temporal'), { recursive: true, mode: 0o700 });
  const folder = join(realpathSync(dataDir), 'temporal');
  const database = join(folder, 'temporal.db');
  const complete = join(folder, 'complete');
  await endLeftover(database);
  if (!existsSync(complete)) {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${database}${suffix}`, { force: true });
  }
  const command = await findTemporalBinary(progress, options.abort);
  const server = await startOnFreePorts(() => startServer(options, { command, folder, database }));
  writeFileSync(complete, '');
  return server;
}

async function startServer(
  options: TemporalOptions,
  { command, folder, database }: { command: string; folder: string; database: string },
): Promise<EmbeddedTemporal> {
  const { dataDir, namespaces = [] } = options;
  const ports = await choosePorts(options);
  const logFile = join(dataDir, 'temporal.log');
  const args = serverArguments(options, { folder, database }, ports);
  const server = await spawnServer({ command, cwd: folder, logFile, env: temporalEnv(), args });
  const stop = () => endProcess(server.pid, TEMPORAL_STOP);
  const address = `${HOST}:${ports.port}`;
  try {
    await options.spawned?.(server.pid);
    await waitUntilReady(server, address, ['default', ...namespaces], logFile);
  } catch (error) {
    await stop();
    throw error;
  }
  const { exited } = server;
  void endWhenStuck({ address, exited, stop }, { report: options.stuck ?? (() => {}) });
  return {
    address,
    port: ports.port,
    uiUrl: `http://${HOST}:${ports.uiPort}`,
    uiPort: ports.uiPort,
    otherPorts: [ports.httpPort, ports.metricsPort],
    pid: server.pid,
    exited,
    stop,
  };
}

interface Ports {
  port: number;
  uiPort: number;
  httpPort: number;
  metricsPort: number;
}

async function choosePorts({ port, uiPort, otherPorts = [0, 0] }: TemporalOptions): Promise<Ports> {
  return {
    port: await choosePort({ what: 'Temporal', wanted: port, usual: 7233 }),
    uiPort: await choosePort({ what: "Temporal's UI", wanted: uiPort, usual: 8233 }),
    httpPort: await choosePort({ what: "Temporal's HTTP API", wanted: otherPorts[0] }),
    metricsPort: await choosePort({ what: "Temporal's metrics", wanted: otherPorts[1] }),
  };
}

function serverArguments(
  { namespaces = [], throwaway = false, dynamicConfig, codecEndpoint }: TemporalOptions,
  { folder, database }: { folder: string; database: string },
  { port, uiPort, httpPort, metricsPort }: Ports,
): string[] {
  const settings = Object.entries({ ...tuning, ...dynamicConfig });
  const flags: [name: string, value: string][] = [
    ['--log-level', 'warn'],
    ['--ip', HOST],
    ['--port', String(port)],
    ['--ui-port', String(uiPort)],
    ['--http-port', String(httpPort)],
    ['--metrics-port', String(metricsPort)],
    ['--db-filename', database],
    ['--sqlite-pragma', 'journal_mode=wal'],
    ['--sqlite-pragma', `synchronous=${throwaway ? 'off' : 'normal'}`],
  ];
  for (const [key, value] of settings) flags.push(['--dynamic-config-value', `${key}=${value}`]);
  for (const name of Object.values(SEARCH_ATTRIBUTES)) flags.push(['--search-attribute', `${name}=Keyword`]);
  for (const name of namespaces) flags.push(['--namespace', name]);
  if (codecEndpoint !== undefined)
    flags.push(['--env', CLI_ENVIRONMENT], ['--env-file', writeCodecFile(folder, codecEndpoint)]);
  return ['server', 'start-dev', ...flags.flat()];
}

/** The endpoint has the codec's token, and other users of the machine see a program's arguments. */
function writeCodecFile(folder: string, codecEndpoint: string): string {
  const path = join(folder, 'cli.yaml');
  const settings = { env: { [CLI_ENVIRONMENT]: { 'ui-codec-endpoint': codecEndpoint } } };
  writeFileSync(path, `${JSON.stringify(settings)}\n`, { mode: 0o600 });
  return path;
}

/** The environment without TEMPORAL_* variables, which the CLI would prefer over our flags. */
function temporalEnv(): Record<string, string> {
  return Object.fromEntries(Object.entries(childEnv({})).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

async function waitUntilReady(
  server: ServerProcess,
  address: string,
  namespaces: readonly string[],
  logFile: string,
): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  let last: unknown;
  while (!server.hasExited() && Date.now() < deadline) {
    try {
      const connection = await Connection.connect({
        address,
        connectTimeout: 1_000,
        interceptors: CONNECTION_INTERCEPTORS,
      });
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

/** The address of the server that runs on the data in `dataDir`; null if there is none. */
export async function runningTemporal(dataDir: string): Promise<string | null> {
  const [server] = await serversOn(join(realpathSync(dataDir), 'temporal', 'temporal.db'));
  const port = / --port (\d+) /.exec(server?.command ?? '')?.[1];
  return port === undefined ? null : `${HOST}:${port}`;
}

async function serversOn(database: string): Promise<SystemProcess[]> {
  return (await listProcesses()).filter(
    ({ command }) =>
      command.includes(` server start-dev `) && command.includes(` --db-filename ${database} `),
  );
}

async function endLeftover(database: string): Promise<void> {
  const left = await serversOn(database);
  const pids = left.map(({ pid }) => pid);
  for (const pid of pids) signal(pid, 'SIGTERM');
  if (await waitForEnd(pids, 5_000)) return;
  for (const pid of pids) signal(pid, 'SIGKILL');
  if (!(await waitForEnd(pids, 5_000)))
    throw new Error(`Cannot end process ${pids.join(', ')} of an earlier Temporal server on ${database}.`);
}
