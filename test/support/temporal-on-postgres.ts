/**
 * Temporal's own server, in the version of docker-compose.yml, with its data in PostgreSQL: prepared by the
 * scripts in docker/, started with the environment of its image.
 */
import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { endProcess, signal, spawnServer, type ServerProcess } from '../../dev/os-process.ts';
import { findTemporalBinary } from '../../dev/temporal-binary.ts';
import { goProgram } from './go-program.ts';
import { ownPort } from './machine.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true });
const version = `v${String(services.temporal.image).split(':').at(-1)}`;
const module = 'go.temporal.io/server';
/** Where the image has the versions of the schema. */
const SCHEMA = '/etc/temporal/schema';
const PORTS = ['FRONTEND_HTTP', 'HISTORY_GRPC', 'MATCHING_GRPC', 'WORKER_GRPC'].concat(
  ['FRONTEND', 'HISTORY', 'MATCHING', 'WORKER'].map((name) => `${name}_MEMBERSHIP`),
);

export interface TemporalPrograms {
  server: string;
  sqlTool: string;
  cli: string;
  /** Folder of the server's source, which has the versions of the schema. */
  source: string;
}

/** @returns the programs, built if necessary, or why there are none */
export async function temporalPrograms(): Promise<TemporalPrograms | { missing: string }> {
  const server = await goProgram({ name: 'temporal-server', module, main: 'cmd/server', version });
  if ('missing' in server) return server;
  const tool = await goProgram({ name: 'temporal-sql-tool', module, main: 'cmd/tools/sql', version });
  if ('missing' in tool) return tool;
  const { program, source } = server;
  return { server: program, sqlTool: tool.program, cli: await findTemporalBinary(() => {}), source };
}

interface Options {
  /** Of the server, as a user who may create databases. */
  postgresUrl: string;
  /** For what it writes itself. */
  folder: string;
  namespace: string;
}

export interface TemporalOnPostgres {
  address: string;
  /** Its store, and its visibility, as in TEMPORAL_DATABASE_URLS. */
  databaseUrls: string[];
  /** `kill -9`; resolves when it is gone. */
  kill(): Promise<void>;
}

/** The databases and their tables, as `temporal-schema` of Compose makes them. */
export async function prepareTemporal(programs: TemporalPrograms, options: Options): Promise<string[]> {
  const { source, sqlTool } = programs;
  const { hostname, port, username, password } = new URL(options.postgresUrl);
  const tools = join(options.folder, `tools-${basename(sqlTool)}-${port}`);
  await mkdir(tools, { recursive: true });
  symlinkSync(sqlTool, join(tools, 'temporal-sql-tool'));
  const script = readFileSync(join(root, 'docker/temporal-schema.sh'), 'utf8')
    .replaceAll('-p 5432', `-p ${port}`)
    .replaceAll(SCHEMA, join(source, 'schema'));
  const env = { POSTGRES_SEEDS: hostname, POSTGRES_USER: username, SQL_PASSWORD: password };
  await run('sh', ['-c', script], { env: { PATH: `${tools}:${process.env['PATH']}`, ...env } });
  return ['temporal', 'temporal_visibility'].map((name) => {
    const url = new URL(options.postgresUrl);
    url.pathname = `/${name}`;
    return url.href;
  });
}

/** Started on databases that are prepared, with the namespace as `temporal-namespace` of Compose makes it. */
export async function startTemporalOnPostgres(
  programs: TemporalPrograms,
  options: Options & { databaseUrls: string[] },
): Promise<TemporalOnPostgres> {
  const { folder, namespace, databaseUrls } = options;
  const { hostname, port, username, password } = new URL(options.postgresUrl);
  const grpcPort = await ownPort();
  const others = await Promise.all(PORTS.map(async (name) => [`${name}_PORT`, String(await ownPort())]));
  const address = `127.0.0.1:${grpcPort}`;
  const server = await spawnServer({
    command: programs.server,
    cwd: folder,
    logFile: join(folder, `temporal-${grpcPort}.log`),
    args: ['--allow-no-auth', 'start'],
    env: {
      PATH: process.env['PATH'] ?? '',
      DB: 'postgres12',
      DB_PORT: port,
      POSTGRES_SEEDS: hostname,
      POSTGRES_USER: username,
      POSTGRES_PWD: password,
      LOG_LEVEL: 'warn',
      FRONTEND_GRPC_PORT: String(grpcPort),
      ...Object.fromEntries(others),
      DYNAMIC_CONFIG_FILE_PATH: join(root, 'docker/temporal-dynamic-config.yaml'),
    },
  });
  const end = (): void => signal(server.pid, 'SIGKILL');
  process.once('exit', end);
  void server.exited.then(() => process.off('exit', end));
  try {
    await makeNamespace(programs, { address, namespace, folder });
  } catch (error) {
    await kill(server);
    throw error;
  }
  return { address, databaseUrls, kill: () => kill(server) };
}

async function makeNamespace(
  { cli }: TemporalPrograms,
  { address, namespace, folder }: { address: string; namespace: string; folder: string },
): Promise<void> {
  const tools = join(folder, `tools-${address.replace(':', '-')}`);
  await mkdir(tools, { recursive: true });
  symlinkSync(cli, join(tools, 'temporal'));
  await run('sh', [join(root, 'docker/temporal-namespace.sh')], {
    env: {
      PATH: `${tools}:${process.env['PATH']}`,
      HOME: folder,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
    },
  });
}

const kill = ({ pid }: ServerProcess): Promise<void> => endProcess(pid, []);
