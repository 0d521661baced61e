/** The embedded servers on what kills leave behind: stale and wrong files, half-made data, processes of the last start. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { isAlive } from '../../dev/os-process.ts';
import { choosePort } from '../../dev/ports.ts';
import { startPostgres, type EmbeddedPostgres } from '../../dev/postgres.ts';
import { findTemporalBinary } from '../../dev/temporal-binary.ts';
import { startTemporal, type EmbeddedTemporal } from '../../dev/temporal.ts';

let dataDir: string;
let servers: (EmbeddedPostgres | EmbeddedTemporal)[];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'cadenza-servers-'));
  servers = [];
});
afterEach(async () => {
  for (const server of servers) await server.stop();
  // As an unprivileged user PostgreSQL keeps its data in a folder of its own.
  for (const server of servers) if ('clusterDir' in server && !server.clusterDir.startsWith(dataDir)) rmSync(dirname(server.clusterDir), { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
});

async function postgres(options: Partial<Parameters<typeof startPostgres>[0]> = {}): Promise<EmbeddedPostgres> {
  const server = await startPostgres({ dataDir, throwaway: true, ...options });
  servers.push(server);
  return server;
}

async function temporal(): Promise<EmbeddedTemporal> {
  const server = await startTemporal({ dataDir, port: 0, uiPort: 0, throwaway: true });
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

describe('PostgreSQL', () => {
  test('sorts and compares text the same everywhere, and refuses a wrong password', async () => {
    const { url } = await postgres();
    expect(await query(url, "SELECT string_agg(w, '' ORDER BY w) AS w FROM unnest(array['b','A','a','é','B']) w")).toEqual([{ w: 'ABabé' }]);
    expect(await query(url, "SELECT upper('é') AS u, current_setting('server_encoding') AS e")).toEqual([{ u: 'É', e: 'UTF8' }]);
    await expect(query(url.replace(/:[^:@]*@/, ':wrong@'), 'SELECT 1')).rejects.toThrow(/authentication/);
  });

  test('half-made data, a stale lock file with the id of a living process, and a folder that is no cluster do not stop it', async () => {
    mkdirSync(join(dataDir, 'postgres.half-made-1', 'base'), { recursive: true });
    mkdirSync(join(dataDir, 'postgres', 'base'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '18\n');
    const first = await postgres();
    expect(readdirSync(dataDir).filter((name) => /half-made|unusable/.test(name))).toEqual([expect.stringContaining('unusable')]);
    await query(first.url, 'CREATE TABLE kept (id int)');
    await first.stop();
    writeFileSync(join(first.clusterDir, 'postmaster.pid'), `${process.pid}\n${first.clusterDir}\n1\n1\n\n127.0.0.1\n 1 1\nready   \n`);
    const second = await postgres();
    expect(await query(second.url, 'SELECT * FROM kept')).toEqual([]);
  });

  test('a server that still runs is ended; backends that outlive a killed one are too', async () => {
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

  test('a cluster of another version is refused with what to do', async () => {
    const first = await postgres();
    await first.stop();
    writeFileSync(join(first.clusterDir, 'PG_VERSION'), '17\n');
    await expect(startPostgres({ dataDir })).rejects.toThrow(/of PostgreSQL 17.*another DATA_DIR/);
  });

  const root = process.getuid?.() === 0;
  (root ? test.each(['namespace', 'user'] as const) : test.skip.each(['namespace', 'user'] as const))(
    'as root by %s, below a folder that only root may enter: data found again', async (rootMode) => {
      const first = await postgres({ rootMode });
      await query(first.url, 'CREATE TABLE kept (id int)');
      await first.stop();
      const second = await postgres({ rootMode });
      expect(await query(second.url, 'SELECT * FROM kept')).toEqual([]);
    });
});

describe('Temporal', () => {
  test('a database whose first start was cut short is made anew; a server left running is ended', async () => {
    mkdirSync(join(dataDir, 'temporal'));
    writeFileSync(join(dataDir, 'temporal', 'temporal.db'), 'no database');
    const first = await temporal();
    const second = await temporal();
    expect([isAlive(first.pid), isAlive(second.pid)]).toEqual([false, true]);
    expect((await fetch(second.uiUrl)).status).toBe(200);
  });

  test('a binary on PATH comes first; one that does not run is passed over', async () => {
    const real = await findTemporalBinary(() => {});
    const [broken, good] = [mkdtempSync(join(dataDir, 'broken-')), mkdtempSync(join(dataDir, 'good-'))];
    writeFileSync(join(broken, 'temporal'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    symlinkSync(real, join(good, 'temporal'));
    expect(await findTemporalBinary(() => {}, undefined, { PATH: `${broken}:${good}`, HOME: dataDir })).toBe(join(good, 'temporal'));
    unlinkSync(join(good, 'temporal'));
    mkdirSync(join(dataDir, '.cache/cadenza/temporal-v1.5.1'), { recursive: true });
    symlinkSync(real, join(dataDir, '.cache/cadenza/temporal-v1.5.1/temporal'));
    expect(await findTemporalBinary(() => {}, undefined, { PATH: broken, HOME: dataDir })).toBe(join(dataDir, '.cache/cadenza/temporal-v1.5.1/temporal'));
  });
});

describe('ports', () => {
  test('a wanted one is taken or refused, the usual one is taken if it is free, 0 is any', async () => {
    const free = await choosePort({ what: 'x' });
    expect(await choosePort({ what: 'x', usual: free })).toBe(free);
    expect(await choosePort({ what: 'x', wanted: free })).toBe(free);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(free, '127.0.0.1', resolve));
    await expect(choosePort({ what: 'the thing', wanted: free })).rejects.toThrow(`Port ${free} for the thing is taken`);
    expect(await choosePort({ what: 'x', usual: free })).not.toBe(free);
    expect(await choosePort({ what: 'x', wanted: 0, usual: free })).toBeGreaterThan(0);
    server.close();
  });
});
