/**
 * `cadenza audit export --follow`: real processes that are killed, and an API that goes away and comes back.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { sealAudit } from '../../../domain/audit/seal.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../../../domain/audit/write.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { cliUser, type CliUser } from '../../support/cli.ts';
import { until } from '../../support/platform.ts';
import { sealAll } from '../../support/seals.ts';

/** What a process may print again after it was killed. */
const PAGE = 200;

const folder = mkdtempSync(join(tmpdir(), 'cadenza-feed-'));
let app: TestApp;
let front: Server;
const open = new Set<Socket>();
const followers: ChildProcess[] = [];
/** Where the front leads; null: nowhere, as while the API restarts. */
let port: number | null;
let cli: CliUser;
let teamCli: CliUser;
let team: string;

beforeAll(async () => {
  app = await startTestApp();
  leadTo(app.url);
  front = createServer((socket) => {
    open.add(socket.on('close', () => open.delete(socket)));
    if (port === null) return void socket.destroy();
    const behind = connect(port, '127.0.0.1');
    for (const one of [socket, behind])
      one.on('error', () => undefined).on('close', () => [socket, behind].forEach((each) => each.destroy()));
    socket.pipe(behind).pipe(socket);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  // The address of a listening TCP server has this type.
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const [admin, builder] = [await app.user('admin'), await app.user('builder')];
  cli = cliUser({ CADENZA_URL: url, CADENZA_TOKEN: admin.token });
  teamCli = cliUser({ CADENZA_URL: url, CADENZA_TOKEN: builder.token });
  team = (await (await app.as('admin')).post('/teams', { name: 'payments', admin: builder.id })).body.id;
  await (await app.as(builder)).patch(`/teams/${team}`, { description: 'changed' });
});
afterAll(async () => {
  for (const child of followers) child.kill('SIGKILL');
  leadTo(null);
  await new Promise((resolve) => front.close(resolve));
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

/** To another address, without the connections that are open. */
function leadTo(url: string | null): void {
  port = url === null ? null : Number(new URL(url).port);
  for (const socket of open) socket.destroy();
}

function follower(...args: string[]): ReturnType<CliUser['start']> {
  const started = cli.start(['audit', 'export', '--follow', '--every', '1s', ...args]);
  followers.push(started.child);
  return started;
}

const fork = () => app.orm.em.fork();

interface Line {
  id: string;
  action: string;
  cursor: string;
  team_id: string | null;
}

/** Whole lines. */
function linesOf(stdout: string): Line[] {
  return stdout
    .slice(0, stdout.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

/** Writers and a sealer, until they are stopped. @returns what stops them, and then seals the rest */
function activity(writers: number): () => Promise<void> {
  let isOn = true;
  const writing = Array.from({ length: writers }, async (_, writer) => {
    while (isOn)
      await fork().transactional(async (em) => {
        await writeAudit(em, SYSTEM_ORIGIN, { action: `written ${writer}` });
        await em.execute('select pg_sleep(random() * 0.02)');
        await writeAudit(em, SYSTEM_ORIGIN, { action: `written ${writer}` });
      });
  });
  const sealing = (async () => {
    while (isOn) {
      await sealAudit(fork);
      await fork().execute('select pg_sleep(0.1)');
    }
  })();
  return async () => {
    isOn = false;
    await Promise.all([...writing, sealing]);
    await sealAll(fork);
  };
}

async function allIds(): Promise<string[]> {
  const rows = await fork().execute<{ id: string }[]>(
    'select e.id::text as id from audit_entry e order by e.tx, e.id',
  );
  return rows.map(({ id }) => id);
}

test('an export goes on after a cursor, and says the one to go on with', async () => {
  await sealAll(fork);
  const all = await cli.run(['audit', 'export', '--after', '0']);
  expect(all.exitCode).toBe(0);
  const lines = linesOf(all.stdout);
  expect(lines.map(({ id }) => id)).toEqual(await allIds());
  const [, cursor] = /--after (\S+)/.exec(all.stderr) ?? [];
  const [rest, nothing] = [
    await cli.run(['audit', 'export', '--after', lines[0]!.cursor]),
    await cli.run(['audit', 'export', '--after', cursor!]),
  ];
  expect(linesOf(rest.stdout)).toEqual(lines.slice(1));
  expect([nothing.exitCode, nothing.stdout]).toEqual([0, '']);
  expect(nothing.stderr).toContain(cursor);
});

test('an admin of a team exports and lists its entries only, by its name', async () => {
  await sealAll(fork);
  const feed = await teamCli.run(['audit', 'export', '--after', '0', '--team', 'payments']);
  expect(linesOf(feed.stdout).map(({ action }) => action)).toEqual(['createTeam', 'updateTeam']);
  const list = await teamCli.run(['audit', 'list', '--team', team, '--action', 'updateTeam', '-o', 'json']);
  expect(list.json()).toMatchObject([{ action: 'updateTeam', team_id: team }]);
  const csv = await teamCli.run(['audit', 'export', '--team', 'payments', '--format', 'csv']);
  expect(csv.stdout).toContain(team);
});

test('what makes no sense is refused', async () => {
  const refused = async (...args: string[]) => {
    const { exitCode, stderr } = await cli.run(['audit', 'export', ...args]);
    return [exitCode, stderr];
  };
  expect(await refused('--follow', '--format', 'csv')).toEqual([2, expect.stringContaining('JSON lines')]);
  expect(await refused('--after', '0', '--every', '3s')).toEqual([2, expect.stringContaining('--follow')]);
  expect(await refused('--follow', '--every', '0')).toEqual([2, expect.stringContaining('at least 1s')]);
  expect(await refused('--after', 'nonsense')).toEqual([1, expect.stringContaining('another list')]);
  const state = join(folder, 'no-cursor');
  writeFileSync(state, '{"cursor": 7}');
  expect(await refused('--state', state)).toEqual([2, expect.stringContaining('holds no cursor')]);
});

test('a follower that is killed loses nothing when it goes on, and repeats at most a page', async () => {
  const state = join(folder, 'cursor');
  const stop = activity(4);
  const runs: Line[][] = [];
  const follow = () => follower('--state', state);
  for (let kill = 0; kill < 4; kill += 1) {
    const process = follow();
    await until(
      async () => linesOf(process.stdout()).length,
      (count) => count > 30,
    );
    process.child.kill('SIGKILL');
    runs.push(linesOf((await process.done).stdout));
  }
  await stop();
  const last = follow();
  const expected = await allIds();
  await until(
    async () => linesOf(last.stdout()).at(-1)?.id,
    (id) => id === expected.at(-1),
  );
  last.child.kill('SIGTERM');
  runs.push(linesOf((await last.done).stdout));

  const position = new Map(expected.map((id, index) => [id, index]));
  let reached = -1;
  for (const lines of runs) {
    const places = lines.map(({ id }) => position.get(id) ?? Number.NaN);
    // Each run is without a gap, and begins where the one before ended, or at most a page before.
    expect(places).toEqual(places.map((_, index) => places[0]! + index));
    expect(places[0]).toBeLessThanOrEqual(reached + 1);
    expect(places[0]).toBeGreaterThan(reached - PAGE);
    reached = places.at(-1)!;
  }
  expect(reached).toBe(expected.length - 1);
  // Whoever starts next has nothing to print.
  const next = await cli.run(['audit', 'export', '--state', state]);
  expect([next.exitCode, next.stdout]).toEqual([0, '']);
  expect(readFileSync(state, 'utf8')).toMatch(/^[\w-]+\n$/);
});

test('a follower waits for an API that restarts, and goes on', async () => {
  await sealAll(fork);
  const before = linesOf((await cli.run(['audit', 'export', '--after', '0'])).stdout).at(-1)!;
  const running = follower('--after', before.cursor);
  await writeAudit(fork(), SYSTEM_ORIGIN, { action: 'before the restart' });
  await sealAll(fork);
  const actions = (): string[] => linesOf(running.stdout()).map(({ action }) => action);
  await until(
    async () => actions(),
    (all) => all.includes('before the restart'),
  );
  leadTo(null);
  await writeAudit(fork(), SYSTEM_ORIGIN, { action: 'meanwhile' });
  await sealAll(fork);
  await until(
    async () => running.stderr(),
    (text) => text.includes('Trying again'),
  );
  const copy = await startTestApp({ databaseUrl: app.databaseUrl, env: { BASE_URL: app.url } });
  leadTo(copy.url);
  await until(
    async () => actions(),
    (all) => all.includes('meanwhile'),
  );
  expect(running.stderr()).toContain('The server answers again.');
  running.child.kill('SIGTERM');
  expect((await running.done).exitCode).toBe(130);
  expect(actions()).toEqual(['before the restart', 'meanwhile']);
  leadTo(app.url);
  await copy.close();
});
