/**
 * The embedded servers and the remains of kills: stale and wrong files, incomplete data, processes of the
 * last start.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { isAlive, listProcesses } from '../../dev/os-process.ts';
import { choosePort } from '../../dev/ports.ts';
import { startPostgres, type EmbeddedPostgres } from '../../dev/postgres.ts';
import { choosePostgresAccount, type RootMode } from '../../dev/postgres-account.ts';
import { findTemporalBinary } from '../../dev/temporal-binary.ts';
import { startTemporal, type EmbeddedTemporal } from '../../dev/temporal.ts';
import { testUnless } from '../support/outside.ts';
import { ownPort } from '../support/machine.ts';

let dataDir: string;
let servers: (EmbeddedPostgres | EmbeddedTemporal)[];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'cadenza-servers-'));
  servers = [];
});
afterEach(async () => {
  for (const server of servers) await server.stop();
  // An unprivileged user of PostgreSQL has a separate data folder.
  for (const server of servers)
    if ('clusterDir' in server && !server.clusterDir.startsWith(dataDir))
      rmSync(dirname(server.clusterDir), { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
});

async function postgres(
  options: Partial<Parameters<typeof startPostgres>[0]> = {},
): Promise<EmbeddedPostgres> {
  const server = await startPostgres({ dataDir, throwaway: true, ...options });
  servers.push(server);
  return server;
}

async function temporal(more: { codecEndpoint?: string } = {}): Promise<EmbeddedTemporal> {
  const server = await startTemporal({ dataDir, port: 0, uiPort: 0, throwaway: true, ...more });
  servers.push(server);
  return server;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Why root cannot run PostgreSQL in this way here; undefined if it can. */
function rootHindrance(rootMode: RootMode): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can choose the account of PostgreSQL';
  const refused = rootMode === 'namespace' && spawnSync('unshare', ['-U', 'true']).status !== 0;
  return refused ? 'this system gives root no user namespace' : undefined;
}

describe('the embedded PostgreSQL', () => {
  test('compares text the same on every machine, and refuses a wrong password', async () => {
    const { url } = await postgres();
    expect(
      await query(url, "SELECT string_agg(w, '' ORDER BY w) AS w FROM unnest(array['b','A','a','é','B']) w"),
    ).toEqual([{ w: 'ABabé' }]);
    expect(await query(url, "SELECT upper('é') AS u, current_setting('server_encoding') AS e")).toEqual([
      { u: 'É', e: 'UTF8' },
    ]);
    await expect(query(url.replace(/:[^:@]*@/, ':wrong@'), 'SELECT 1')).rejects.toThrow(/authentication/);
  });

  test('starts despite incomplete data, a stale lock file, or a folder that is no cluster', async () => {
    mkdirSync(join(dataDir, 'postgres.half-made-1', 'base'), { recursive: true });
    mkdirSync(join(dataDir, 'postgres', 'base'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '18\n');
    const first = await postgres();
    expect(readdirSync(dataDir).filter((name) => /half-made|unusable/.test(name))).toEqual([
      expect.stringContaining('unusable'),
    ]);
    await query(first.url, 'CREATE TABLE kept (id int)');
    await first.stop();
    writeFileSync(
      join(first.clusterDir, 'postmaster.pid'),
      `${process.pid}\n${first.clusterDir}\n1\n1\n\n127.0.0.1\n 1 1\nready   \n`,
    );
    const second = await postgres();
    expect(await query(second.url, 'SELECT * FROM kept')).toEqual([]);
  });

  test('ends a running server and the backends of a killed one', async () => {
    const first = await postgres();
    const second = await postgres();
    expect([isAlive(first.pid), isAlive(second.pid)]).toEqual([false, true]);
    const busy = new pg.Client({ connectionString: second.url });
    busy.on('error', () => {});
    await busy.connect();
    const { rows } = await busy.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    busy.query('SELECT count(*) FROM generate_series(1, 100000000000)').catch(() => {});
    process.kill(second.pid, 'SIGKILL');
    const third = await postgres();
    expect(await query(third.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(isAlive(rows[0]!.pid)).toBe(false);
    await busy.end().catch(() => {});
  });

  test('refuses a cluster of another version, with the way out', async () => {
    const first = await postgres();
    await first.stop();
    writeFileSync(join(first.clusterDir, 'PG_VERSION'), '17\n');
    await expect(startPostgres({ dataDir })).rejects.toThrow(/from PostgreSQL 17.*another DATA_DIR/);
  });

  for (const rootMode of ['namespace', 'user'] as const) {
    testUnless(rootHindrance(rootMode))(
      `runs as root by ${rootMode}, below a folder that only root may enter, and finds its data again`,
      async () => {
        const first = await postgres({ rootMode });
        await query(first.url, 'CREATE TABLE kept (id int)');
        await first.stop();
        const second = await postgres({ rootMode });
        expect(await query(second.url, 'SELECT * FROM kept')).toEqual([]);
      },
    );
  }
});

testUnless(rootHindrance('user'))(
  'an installation that only root may read is copied for the user that PostgreSQL runs as',
  async () => {
    const installation = join(dataDir, 'installation');
    mkdirSync(join(installation, 'bin'), { recursive: true, mode: 0o700 });
    mkdirSync(join(installation, 'share'), { mode: 0o700 });
    writeFileSync(join(installation, 'bin/postgres'), '#!/bin/sh\ncat "$(dirname "$0")/../share/data"\n', {
      mode: 0o700,
    });
    writeFileSync(join(installation, 'share/data'), 'readable', { mode: 0o600 });
    const account = await choosePostgresAccount(join(installation, 'bin'), dataDir, 'user');
    try {
      const { command, args, ...user } = account.wrap(join(account.binDir, 'postgres'), []);
      expect(execFileSync(command, args, { ...user, cwd: '/', encoding: 'utf8' })).toBe('readable');
    } finally {
      for (const folder of [dirname(account.binDir), account.homeDir])
        if (folder !== dataDir) rmSync(folder, { recursive: true, force: true });
    }
  },
);

describe('the embedded Temporal', () => {
  test('recreates a database whose first start was cut short, and ends a running server', async () => {
    mkdirSync(join(dataDir, 'temporal'));
    writeFileSync(join(dataDir, 'temporal', 'temporal.db'), 'no database');
    const first = await temporal();
    const second = await temporal();
    expect([isAlive(first.pid), isAlive(second.pid)]).toEqual([false, true]);
    expect((await fetch(second.uiUrl)).status).toBe(200);
  });

  test('gives its UI the codec by a file, and not by its arguments, which others see', async () => {
    const codecEndpoint = 'http://127.0.0.1:9/temporal-codec/not-to-be-seen';
    const server = await temporal({ codecEndpoint });
    const settings = (await (await fetch(`${server.uiUrl}/api/v1/settings`)).json()) as object;
    expect(settings).toMatchObject({ Codec: { Endpoint: codecEndpoint } });
    const seen = (await listProcesses()).find(({ pid }) => pid === server.pid);
    expect(seen?.command).toContain('start-dev');
    expect(seen?.command).not.toContain('not-to-be-seen');
    expect(statSync(join(dataDir, 'temporal', 'cli.yaml')).mode & 0o777).toBe(0o600);
  });

  test('prefers a binary on PATH, unless it does not run', async () => {
    const real = await findTemporalBinary(() => {});
    const [broken, good] = [mkdtempSync(join(dataDir, 'broken-')), mkdtempSync(join(dataDir, 'good-'))];
    writeFileSync(join(broken, 'temporal'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    symlinkSync(real, join(good, 'temporal'));
    expect(await findTemporalBinary(() => {}, undefined, { PATH: `${broken}:${good}`, HOME: dataDir })).toBe(
      join(good, 'temporal'),
    );
    unlinkSync(join(good, 'temporal'));
    mkdirSync(join(dataDir, '.cache/cadenza/temporal-v1.5.1'), { recursive: true });
    symlinkSync(real, join(dataDir, '.cache/cadenza/temporal-v1.5.1/temporal'));
    expect(await findTemporalBinary(() => {}, undefined, { PATH: broken, HOME: dataDir })).toBe(
      join(dataDir, '.cache/cadenza/temporal-v1.5.1/temporal'),
    );
  });
});

describe('a port', () => {
  test('is the requested one or an error, the usual one if it is free, or any for 0', async () => {
    const free = await ownPort();
    expect(await choosePort({ what: 'x', usual: free })).toBe(free);
    expect(await choosePort({ what: 'x', wanted: free })).toBe(free);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(free, '127.0.0.1', resolve));
    await expect(choosePort({ what: 'the thing', wanted: free })).rejects.toThrow(
      `Port ${free} for the thing is in use`,
    );
    expect(await choosePort({ what: 'x', usual: free })).not.toBe(free);
    expect(await choosePort({ what: 'x', wanted: 0, usual: free })).toBeGreaterThan(0);
    server.close();
  });
});
