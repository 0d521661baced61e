/** `npm start` with stand-ins for migrate, api and worker: start, stop, second start, refusals, settings. */
import {
  chmodSync,
  existsSync,
  linkSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { checkValueOf } from '../../domain/secrets/check-value.ts';
import { findTemporalBinary } from '../../dev/temporal-binary.ts';
import { testUnless, unreachableFor } from '../support/outside.ts';
import { createTestDatabase, testTemporal } from '../support/servers.ts';
import { eventually, upFolder, type UpFolder } from '../support/up-process.ts';
import { allowedMs } from '../support/machine.ts';

/** The promise for an idle machine, on which it takes 2 to 5 s. */
const READY_MS = 10_000;
/** On an idle machine it takes 1 to 2 s. */
const STOPPED_MS = 10_000;

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
  test('starts everything, refuses a second instance, drains on Ctrl-C, and keeps its data', async () => {
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
    expect(settings).toMatchObject({
      BASE_URL: url,
      ADMIN_PASSWORD: password,
      EGRESS_ALLOW: '127.0.0.0/8,::1/128,localhost',
      DATABASE_URL: expect.stringMatching(/^postgres:/),
      ENCRYPTION_KEYS: expect.stringMatching(/^k1:/),
    });
    expect(Object.keys(folder.pids()).toSorted()).toEqual([
      'PostgreSQL',
      'Temporal',
      'api',
      'migrate',
      'npm start',
      'worker',
    ]);

    const second = folder.start();
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`running on ${folder.dataDir} (process ${first.pid}, ${url})`);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);

    const stopAt = Date.now();
    first.interrupt();
    await sleep(150);
    first.interrupt();
    expect(await first.exited).toBe(0);
    expect(Date.now() - stopAt).toBeLessThan(allowedMs(STOPPED_MS));
    expect(await folder.running()).toEqual([]);
    expect(existsSync(join(folder.dataDir, 'lock'))).toBe(false);

    const startAt = Date.now();
    const third = folder.start();
    const again = await third.ready();
    expect(Date.now() - startAt).toBeLessThan(allowedMs(READY_MS));
    expect(((await get(`${again}/readyz`)) as string[]).toSorted()).toEqual([
      'api drained',
      'worker drained',
    ]);
    expect(third.output()).not.toContain(password);
    expect(await get(`${again}/settings`)).toMatchObject({ ENCRYPTION_KEYS: settings['ENCRYPTION_KEYS'] });
    process.kill(third.pid, 'SIGTERM');
    expect(await third.exited).toBe(0);
    expect(await folder.running()).toEqual([]);
  });

  test('runs beside another instance with other data, on other ports if need be', async () => {
    const usual = { TEMPORAL_PORT: '', TEMPORAL_UI_PORT: '' };
    const [first, second] = [newFolder().start(usual), newFolder().start(usual)];
    const urls = await Promise.all([first.ready(), second.ready()]);
    expect(new Set(urls).size).toBe(2);
    for (const url of urls) expect((await fetch(`${url}/readyz`)).status).toBe(200);
    first.interrupt();
    second.interrupt();
    expect(await Promise.all([first.exited, second.exited])).toEqual([0, 0]);
  });

  test('runs once if two starts use the same data at once, and the other refuses', async () => {
    const folder = newFolder();
    writeFileSync(
      join(folder.dataDir, 'lock'),
      JSON.stringify({ role: 'npm start', pid: 1, identity: 'long gone', started_at: '' }),
    );
    const starts = [folder.start(), folder.start(), folder.start()];
    const outcomes = await Promise.all(
      starts.map((up) =>
        Promise.race([
          up.ready().then(
            () => 'ready',
            () => 'refused',
          ),
          up.exited.then(() => 'refused'),
        ]),
      ),
    );
    expect(outcomes.toSorted()).toEqual(['ready', 'refused', 'refused']);
  });

  test.each([50, 400, 1_500])('stops everything on a signal %i ms after its start', async (afterMs) => {
    const folder = newFolder();
    const up = folder.start();
    await sleep(afterMs);
    const at = Date.now();
    process.kill(up.pid, 'SIGTERM');
    await up.exited;
    expect(Date.now() - at).toBeLessThan(allowedMs(STOPPED_MS));
    await eventually(async () => expect(await folder.running()).toEqual([]));
  });

  test('uses servers that are configured instead of starting its own', async () => {
    const [database, temporal] = await Promise.all([createTestDatabase({ empty: true }), testTemporal()]);
    const folder = newFolder();
    const up = folder.start({
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: temporal.address,
      ADMIN_PASSWORD: 'a password of mine',
    });
    const url = await up.ready();
    expect(await get(`${url}/settings`)).toMatchObject({
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: temporal.address,
    });
    expect(Object.keys(folder.pids()).toSorted()).toEqual(['api', 'migrate', 'npm start', 'worker']);
    expect(up.output()).toContain('the password of ADMIN_PASSWORD');
    expect(up.output()).not.toContain('a password of mine');
    up.interrupt();
    expect(await up.exited).toBe(0);
  });

  test('makes no new keys for a database that has data, and refuses another key of the same id', async () => {
    const [database, temporal] = await Promise.all([createTestDatabase({ empty: true }), testTemporal()]);
    const settings = { DATABASE_URL: database.url, TEMPORAL_ADDRESS: temporal.address };
    const key = { id: 'k1', key: randomBytes(32) };
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    // The stand-ins need tables of their own, so this has only those columns that the start reads.
    await client.query(
      `create table signing_key (private_key_encrypted text);
       create table encryption_key_check (key_id text, check_value text);
       insert into signing_key values ('v1.k1.a.b')`,
    );
    const folder = newFolder();
    const file = join(folder.dataDir, 'encryption-keys');
    const keyless = folder.start(settings);
    expect(await keyless.exited).toBe(1);
    expect(keyless.output()).toContain(
      'Cadenza did not start: the database has data that is encrypted with "k1", and there are no keys: ' +
        `ENCRYPTION_KEYS is not set, and ${file} does not exist`,
    );
    expect(existsSync(file)).toBe(false);

    await client.query(`insert into encryption_key_check values ('k1', $1)`, [checkValueOf(key)]);
    await client.end();
    const other = `k1:${randomBytes(32).toString('base64')}`;
    const withOther = folder.start({ ...settings, ENCRYPTION_KEYS: other });
    expect(await withOther.exited).toBe(1);
    expect(withOther.output()).toContain('did not start: ENCRYPTION_KEYS has another key under the id "k1"');
    writeFileSync(file, other);
    const withOtherFile = folder.start(settings);
    expect(await withOtherFile.exited).toBe(1);
    expect(withOtherFile.output()).toContain(`did not start: ${file} has another key under the id "k1"`);

    writeFileSync(file, `k1:${key.key.toString('base64')}`);
    const right = folder.start(settings);
    await right.ready();
    right.interrupt();
    expect(await right.exited).toBe(0);
  });

  test('reports a taken port, bad settings and a broken program, and leaves nothing behind', async () => {
    const taken = createServer();
    const port = await new Promise<number>((resolve) =>
      taken.listen(0, '127.0.0.1', () => resolve((taken.address() as { port: number }).port)),
    );
    const folder = newFolder();
    try {
      const onTaken = folder.start({ PORT: String(port) });
      expect(await onTaken.exited).toBe(1);
      expect(onTaken.output()).toContain(`Port ${port} for the API (PORT) is in use`);
      const badSettings = folder.start({ PORT: 'x', LOG_LEVEL: 'loud' });
      expect(await badSettings.exited).toBe(2);
      expect(badSettings.output()).toMatch(/PORT must[^]*LOG_LEVEL/);
      const broken = folder.start({ STUB_API: 'no-such-file.ts' });
      expect(await broken.exited).toBe(1);
      expect(broken.output()).toMatch(/the api exited immediately[^]*no-such-file/);
    } finally {
      taken.close();
    }
    expect(await folder.running()).toEqual([]);
  });

  const nobody = 65_534;
  const hindrance =
    process.getuid?.() === 0 ? unreachableFor(nobody) : 'only root can start it as another user';
  testUnless(hindrance)('a user who is not root can start it', async () => {
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
      const up = folder.start(
        { PATH: `${parent}:${process.env['PATH']}`, HOME: parent },
        { uid: nobody, gid: nobody },
      );
      await up.ready();
      expect(statSync(join(folder.dataDir, 'postgres')).uid).toBe(nobody);
      up.interrupt();
      expect(await up.exited).toBe(0);
    } finally {
      for (const folder of folders.splice(0)) await folder.clean();
      rmSync(parent, { recursive: true, force: true });
    }
  });
});
