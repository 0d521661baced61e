/** Kills of the processes of the embedded set-up: one at a time, the parent alone, and all of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { isAlive, signal, waitForEnd } from '../../dev/os-process.ts';
import { eventually, upFolder, type Up, type UpFolder } from '../support/up-process.ts';
import { allowedMs } from '../support/machine.ts';

/** The promise for an idle machine, on which it takes 2 to 5 s. */
const READY_MS = 10_000;

let folder: UpFolder;
let up: Up;
let url: string;

const settings = async () => (await (await fetch(`${url}/settings`)).json()) as Record<string, string>;
const note = async (text: string) => {
  const client = new pg.Client({ connectionString: (await settings())['DATABASE_URL'] });
  await client.connect();
  await client.query('INSERT INTO note (text) VALUES ($1)', [text]);
  await client.end();
};
const notes = async () => (await (await fetch(`${url}/readyz`)).json()) as string[];
const readyAgain = () => eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200));

beforeAll(async () => {
  folder = upFolder();
  up = folder.start();
  url = await up.ready();
  await note('first');
});
afterAll(() => folder.clean());

describe('a kill -9', () => {
  test.each(['api', 'worker', 'PostgreSQL', 'Temporal'])(
    'of %s alone is followed by a restart with its data',
    async (role) => {
      const before = { pid: folder.pidOf(role), settings: await settings() };
      const others = Object.entries(folder.pids()).filter(([other]) => other !== role && other !== 'migrate');
      process.kill(before.pid, 'SIGKILL');
      await eventually(async () => {
        expect(folder.pidOf(role)).not.toBe(before.pid);
        expect(up.output()).toContain(`${role} is running again`);
      });
      await readyAgain();
      expect(await notes()).toContain('first');
      expect(await settings()).toMatchObject({
        DATABASE_URL: before.settings['DATABASE_URL'],
        TEMPORAL_ADDRESS: before.settings['TEMPORAL_ADDRESS'],
      });
      for (const [other, pid] of others)
        expect([other, folder.pidOf(other), isAlive(pid)]).toEqual([other, pid, true]);
    },
  );

  test('of api, worker, PostgreSQL and Temporal together is followed by a restart of all', async () => {
    const before = folder.pids();
    const roles = ['api', 'worker', 'PostgreSQL', 'Temporal'];
    for (const role of roles) process.kill(before[role]!, 'SIGKILL');
    await eventually(async () => {
      for (const role of roles)
        expect(isAlive(folder.pidOf(role)) && folder.pidOf(role) !== before[role]).toBe(true);
    });
    await readyAgain();
    expect(await notes()).toContain('first');
  });

  test('of the parent alone lets the next start take over, ending api and worker in order', async () => {
    const { migrate: _migrate, ...before } = folder.pids();
    process.kill(up.pid, 'SIGKILL');
    await up.exited;
    expect(Object.entries(before).filter(([role, pid]) => role !== 'npm start' && !isAlive(pid))).toEqual([]);
    up = folder.start();
    url = await up.ready();
    expect(up.output()).toMatch(/ended processes of an earlier start: (api|worker|PostgreSQL|Temporal)/);
    expect(Object.values(before).filter(isAlive)).toEqual([]);
    expect((await notes()).toSorted()).toEqual(['api drained', 'first', 'worker drained']);
  });

  test('of all processes lets the next start recover', async () => {
    const left = [up.pid, ...(await folder.running())];
    for (const pid of left) process.kill(pid, 'SIGKILL');
    expect(await waitForEnd(left, 60_000)).toBe(true);
    const at = Date.now();
    up = folder.start();
    url = await up.ready();
    expect(Date.now() - at).toBeLessThan(allowedMs(READY_MS));
    expect(await notes()).toContain('first');
    up.interrupt();
    expect(await up.exited).toBe(0);
    expect(await folder.running()).toEqual([]);
  });

  test('of the parent or of all at any moment of the first start lets the next start come up', async () => {
    const fresh = upFolder();
    try {
      for (const [afterMs, all] of [
        [200, false],
        [500, true],
        [900, false],
        [1_300, true],
        [1_800, false],
        [2_400, true],
      ] as const) {
        const cut = fresh.start();
        await sleep(afterMs);
        for (const pid of all ? [cut.pid, ...(await fresh.running())] : [cut.pid]) signal(pid, 'SIGKILL');
        await cut.exited;
      }
      const last = fresh.start();
      url = await last.ready();
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      expect(last.output()).toMatch(/Admin +admin/);
      last.interrupt();
      expect(await last.exited).toBe(0);
      expect(await fresh.running()).toEqual([]);
    } finally {
      await fresh.clean();
    }
  });
});
