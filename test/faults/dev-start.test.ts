/** `npm start` with stand-ins for migrate, api and worker: start, stop, second start, refusals, settings. */
import { chmodSync, existsSync, linkSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { findTemporalBinary } from '../../dev/temporal-binary.ts';
import { createTestDatabase, testTemporal } from '../support/servers.ts';
import { eventually, upFolder, type UpFolder } from '../support/up-process.ts';

/** Alone on the machine it takes 2 to 5 s (10 are promised); other tests run beside this one. */
const busyReadyMs = 20_000;

const folders: UpFolder[] = [];
const newFolder = (parent?: string) => {
  const folder = upFolder(parent);
  folders.push(folder);
  return folder;
};
afterEach(async () => {
  for (const folder of folders.splice(0)) await folder.clean();
});

const get = async (url: string) => (await fetch(url)).json() as Promise<unknown>;

describe('npm start', () => {
  test('brings everything up, refuses a second instance on the same data, drains on Ctrl-C and finds its data again', async () => {
    const folder = newFolder();
    const first = folder.start();
    const url = await first.ready();
    expect(first.output()).toMatch(/Temporal UI +http:\/\/127\.0\.0\.1:\d+/);
    const [, password = ''] = /Admin +admin \/ (\S+)/.exec(first.output()) ?? [];
    expect(password).toHaveLength(24);
    expect(readFileSync(join(folder.dataDir, 'admin-password'), 'utf8').trim()).toBe(password);
    for (const name of ['admin-password', 'encryption-keys', 'processes.json', 'api.log']) {
      expect([name, statSync(join(folder.dataDir, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
    const settings = (await get(`${url}/settings`)) as Record<string, string>;
    expect(settings).toMatchObject({ BASE_URL: url, ADMIN_PASSWORD: password, EGRESS_ALLOW: '127.0.0.0/8,::1/128,localhost', DATABASE_URL: expect.stringMatching(/^postgres:/), ENCRYPTION_KEYS: expect.stringMatching(/^k1:/) });
    expect(Object.keys(folder.pids()).toSorted()).toEqual(['PostgreSQL', 'Temporal', 'api', 'migrate', 'npm start', 'worker']);

    const second = folder.start();
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`runs on ${folder.dataDir} already (process ${first.pid}, ${url})`);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);

    const stopAt = Date.now();
    first.interrupt();
    await sleep(150);
    first.interrupt();
    expect(await first.exited).toBe(0);
    expect(Date.now() - stopAt).toBeLessThan(20_000);
    expect(await folder.running()).toEqual([]);
    expect(existsSync(join(folder.dataDir, 'lock'))).toBe(false);

    const startAt = Date.now();
    const third = folder.start();
    const again = await third.ready();
    expect(Date.now() - startAt).toBeLessThan(busyReadyMs);
    expect(((await get(`${again}/readyz`)) as string[]).toSorted()).toEqual(['api drained', 'worker drained']);
    expect(third.output()).not.toContain(password);
    expect(await get(`${again}/settings`)).toMatchObject({ ENCRYPTION_KEYS: settings['ENCRYPTION_KEYS'] });
    process.kill(third.pid, 'SIGTERM');
    expect(await third.exited).toBe(0);
    expect(await folder.running()).toEqual([]);
  });

  test('two instances run side by side on other data and ports, the usual ports of Temporal being asked for by both', async () => {
    const usual = { TEMPORAL_PORT: '', TEMPORAL_UI_PORT: '' };
    const [one, other] = [newFolder().start(usual), newFolder().start(usual)];
    const urls = await Promise.all([one.ready(), other.ready()]);
    expect(new Set(urls).size).toBe(2);
    for (const url of urls) expect((await fetch(`${url}/readyz`)).status).toBe(200);
    one.interrupt();
    other.interrupt();
    expect(await Promise.all([one.exited, other.exited])).toEqual([0, 0]);
  });

  test('two starts at once on the same data: one runs, the other refuses', async () => {
    const folder = newFolder();
    writeFileSync(join(folder.dataDir, 'lock'), JSON.stringify({ role: 'npm start', pid: 1, identity: 'long gone', started_at: '' }));
    const starts = [folder.start(), folder.start(), folder.start()];
    const outcomes = await Promise.all(starts.map((up) => Promise.race([up.ready().then(() => 'ready', () => 'refused'), up.exited.then(() => 'refused')])));
    expect(outcomes.toSorted()).toEqual(['ready', 'refused', 'refused']);
  });

  test.each([50, 400, 1_500])('a signal %i ms after the start stops whatever is there', async (afterMs) => {
    const folder = newFolder();
    const up = folder.start();
    await sleep(afterMs);
    const at = Date.now();
    process.kill(up.pid, 'SIGTERM');
    await up.exited;
    expect(Date.now() - at).toBeLessThan(20_000);
    await eventually(async () => expect(await folder.running()).toEqual([]), 15_000);
  });

  test('given servers are used, and none is started', async () => {
    const [database, temporal] = await Promise.all([createTestDatabase({ empty: true }), testTemporal()]);
    const folder = newFolder();
    const up = folder.start({ DATABASE_URL: database.url, TEMPORAL_ADDRESS: temporal.address, ADMIN_PASSWORD: 'a password of mine' });
    const url = await up.ready();
    expect(await get(`${url}/settings`)).toMatchObject({ DATABASE_URL: database.url, TEMPORAL_ADDRESS: temporal.address });
    expect(Object.keys(folder.pids()).toSorted()).toEqual(['api', 'migrate', 'npm start', 'worker']);
    expect(up.output()).toContain('the password of ADMIN_PASSWORD');
    expect(up.output()).not.toContain('a password of mine');
    up.interrupt();
    expect(await up.exited).toBe(0);
  });

  test('a taken port, bad settings and a program that does not start are told, and nothing stays behind', async () => {
    const taken = createServer();
    const port = await new Promise<number>((resolve) => taken.listen(0, '127.0.0.1', () => resolve((taken.address() as { port: number }).port)));
    const folder = newFolder();
    try {
      const onTaken = folder.start({ PORT: String(port) });
      expect(await onTaken.exited).toBe(1);
      expect(onTaken.output()).toContain(`Port ${port} for the API (PORT) is taken`);
      const badSettings = folder.start({ PORT: 'x', LOG_LEVEL: 'loud' });
      expect(await badSettings.exited).toBe(2);
      expect(badSettings.output()).toMatch(/PORT must[^]*LOG_LEVEL/);
      const broken = folder.start({ STUB_API: 'no-such-file.ts' });
      expect(await broken.exited).toBe(1);
      expect(broken.output()).toMatch(/the api ended at once[^]*no-such-file/);
    } finally {
      taken.close();
    }
    expect(await folder.running()).toEqual([]);
  });

  const root = process.getuid?.() === 0;
  (root ? test : test.skip)('a user who is not root can start it', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'cadenza-user-'));
    try {
      chmodSync(parent, 0o777);
      const binary = await findTemporalBinary(() => {});
      const own = join(parent, 'temporal');
      try {
        linkSync(binary, own);
      } catch {
        copyFileSync(binary, own);
      }
      const folder = newFolder(parent);
      rmSync(folder.dataDir, { recursive: true });
      const reachable = (statSync(process.execPath).mode & 0o001) !== 0;
      expect(reachable).toBe(true);
      const up = folder.start({ PATH: `${parent}:${process.env['PATH']}`, HOME: parent }, { uid: 65_534, gid: 65_534 });
      await up.ready();
      expect(statSync(join(folder.dataDir, 'postgres')).uid).toBe(65_534);
      up.interrupt();
      expect(await up.exited).toBe(0);
    } finally {
      for (const folder of folders.splice(0)) await folder.clean();
      rmSync(parent, { recursive: true, force: true });
    }
  });
});
