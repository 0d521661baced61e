/**
 * All of Cadenza as processes of its own: PostgreSQL, Temporal, two copies of the API and two workers, each
 * connected to both servers by a link that can fail. What ends is started again, as by a process manager.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { childEnv } from '../../../config/env.ts';
import { migrate } from '../../../db/migrate.ts';
import { generateEncryptionKeys } from '../../../dev/data-dir.ts';
import { spawnServer, type Exit } from '../../../dev/os-process.ts';
import { choosePort } from '../../../dev/ports.ts';
import { POSTGRES_STOP, startPostgres, type EmbeddedPostgres } from '../../../dev/postgres.ts';
import { createSupervisor, type Running } from '../../../dev/supervisor.ts';
import { startTemporal, TEMPORAL_STOP, type EmbeddedTemporal } from '../../../dev/temporal.ts';
import { createDisk, type Disk } from './disk.ts';
import { startLink, type Link } from './link.ts';
import { APIS, COPIES, SERVERS, WORKERS, type Copy, type DiskName, type Role, type Server } from './plan.ts';

export interface FaultyPlatform {
  /** Addresses of the copies of the API. */
  urls: readonly string[];
  adminPassword: string;
  /** Past all links. */
  databaseUrl: string;
  temporalAddress: string;
  pidOf(role: Role): number | undefined;
  link(copy: Copy, server: Server): Link;
  disks: Readonly<Record<DiskName, Disk>>;
  setClock(copy: Copy, skewMs: number): void;
  logOf(role: Role): string;
  stop(): Promise<void>;
}

export interface ExitNote extends Exit {
  role: Role;
  /** Of the clock of this process. */
  at: number;
  livedMs: number;
}

const ENTRIES = { api: 'api/main.ts', worker: 'worker/main.ts' };
/** Longer than a copy drains. */
const drain = [{ signal: 'SIGTERM', waitMs: 15_000 }] as const;
const program = (path: string): string => join(import.meta.dirname, '../../..', path);

export async function startFaultyPlatform(options: {
  /** Empty. */
  folder: string;
  print(line: string): void;
  exited(note: ExitNote): void;
}): Promise<FaultyPlatform> {
  const { folder } = options;
  const disks = {
    'the database': createDisk(join(folder, 'database')),
    'the file store': createDisk(join(folder, 'files')),
  };
  const pids = new Map<string, number>();
  const supervisor = createSupervisor({
    // Faults are printed where they are planned.
    print: () => {},
    remember: async (role, pid) => void pids.set(role, pid),
  });
  const links = new Map<string, Link>();
  const stop = async (): Promise<void> => {
    await supervisor.stop([...COPIES]);
    await supervisor.stop([...SERVERS]);
    await Promise.all([...links.values()].map((link) => link.close()));
    for (const disk of Object.values(disks)) disk.remove();
  };
  const run = (role: Role, start: (spawned: (pid: number) => Promise<void>) => Promise<Running>) =>
    supervisor.run({
      role,
      stop: role === 'PostgreSQL' ? POSTGRES_STOP : role === 'Temporal' ? TEMPORAL_STOP : drain,
      logFile: join(folder, `${role}.log`),
      start: async (_attempt, spawned) => {
        const from = Date.now();
        const running = await start(spawned);
        void running.exited.then((exit) => {
          const at = Date.now();
          options.exited({ ...exit, role, at, livedMs: at - from });
        });
        return running;
      },
    });
  try {
    const servers = await startServers(folder, disks, run);
    for (const copy of COPIES) {
      for (const server of SERVERS)
        links.set(
          `${copy} ${server}`,
          await startLink(() => ({ host: '127.0.0.1', port: servers[server].port })),
        );
    }
    const linkOf = (copy: Copy, server: Server): Link => links.get(`${copy} ${server}`)!;
    const settings = await sharedSettings(folder, disks['the file store'].path);
    const urls = await startCopies({ folder, settings, linkOf, run, database: servers.PostgreSQL });
    return {
      urls,
      adminPassword: settings.ADMIN_PASSWORD,
      databaseUrl: servers.PostgreSQL.url,
      temporalAddress: servers.Temporal.address,
      pidOf: (role) => pids.get(role),
      link: linkOf,
      disks,
      setClock: (copy, skewMs) => writeFileSync(clockOf(folder, copy), String(skewMs)),
      logOf: (role) => join(folder, `${role}.log`),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Run = (
  role: Role,
  start: (spawned: (pid: number) => Promise<void>) => Promise<Running>,
) => Promise<void>;

interface Servers {
  PostgreSQL: EmbeddedPostgres;
  Temporal: EmbeddedTemporal;
}

/** They keep their ports when they are started again. */
async function startServers(
  folder: string,
  disks: Readonly<Record<DiskName, Disk>>,
  run: Run,
): Promise<Servers> {
  const last: Partial<Servers> = {};
  await Promise.all([
    run('PostgreSQL', async (spawned) => {
      const port = last.PostgreSQL?.port ?? (await choosePort({ what: 'PostgreSQL', wanted: 0 }));
      return (last.PostgreSQL = await startPostgres({
        dataDir: disks['the database'].path,
        port,
        spawned,
      }));
    }),
    run('Temporal', async (spawned) => {
      const { port = 0, uiPort = 0, otherPorts } = last.Temporal ?? {};
      return (last.Temporal = await startTemporal({ dataDir: folder, port, uiPort, otherPorts, spawned }));
    }),
  ]);
  const { PostgreSQL, Temporal } = last;
  if (!PostgreSQL || !Temporal) throw new Error('the servers did not start');
  await migrate(PostgreSQL.url);
  await keepLogSmall(PostgreSQL.url);
  return { PostgreSQL, Temporal };
}

/** The disk is small. */
async function keepLogSmall(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`alter system set max_wal_size = '256MB'`);
  await client.query('select pg_reload_conf()');
  await client.end();
}

async function sharedSettings(folder: string, files: string) {
  const port = await choosePort({ what: 'the API', wanted: 0 });
  return {
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    DATA_DIR: folder,
    FILES_DIR: join(files, 'store'),
    ENCRYPTION_KEYS: generateEncryptionKeys(),
    ADMIN_PASSWORD: randomBytes(18).toString('base64url'),
    EGRESS_ALLOW: '127.0.0.0/8',
    A2A_GRPC_PORT: 'off',
    RATE_LIMIT_ADDRESS_PER_MINUTE: '0',
    LOG_LEVEL: 'info',
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
  };
}

async function startCopies(deps: {
  folder: string;
  settings: Awaited<ReturnType<typeof sharedSettings>>;
  linkOf(copy: Copy, server: Server): Link;
  run: Run;
  database: EmbeddedPostgres;
}): Promise<string[]> {
  const { folder, settings, linkOf, run, database } = deps;
  mkdirSync(settings.FILES_DIR, { recursive: true });
  const start = async (kind: keyof typeof ENTRIES, copy: Copy, port?: string): Promise<void> => {
    const databaseUrl = new URL(database.url);
    databaseUrl.port = String(linkOf(copy, 'PostgreSQL').port);
    const clock = clockOf(folder, copy);
    writeFileSync(clock, '0');
    const env = childEnv({
      ...settings,
      ...(port === undefined ? {} : { PORT: port }),
      DATABASE_URL: databaseUrl.href,
      TEMPORAL_ADDRESS: `127.0.0.1:${linkOf(copy, 'Temporal').port}`,
      FAULTS_CLOCK: clock,
    });
    const preload = ['--import', join(import.meta.dirname, 'skewed-clock.ts')];
    await run(copy, async (spawned) => {
      const running = await spawnServer({
        command: process.execPath,
        args: ['--no-warnings', '--enable-source-maps', ...preload, program(ENTRIES[kind])],
        env,
        logFile: join(folder, `${copy}.log`),
      });
      await spawned(running.pid);
      return running;
    });
  };
  const urls: string[] = [];
  for (const [n, copy] of APIS.entries()) {
    const port = n === 0 ? settings.PORT : String(await choosePort({ what: copy, wanted: 0 }));
    urls.push(`http://127.0.0.1:${port}`);
    await start('api', copy, port);
  }
  await Promise.all(WORKERS.map((copy) => start('worker', copy)));
  return urls;
}

function clockOf(folder: string, copy: Copy): string {
  return join(folder, `${copy}.clock`);
}
