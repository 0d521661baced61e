/** The limit of a user's streams holds over all copies of the API, also when one of them is killed. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';

import { createClient, startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { until } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { openStream, type SseReader } from '../support/sse-client.ts';

const LIMIT = 6;
/** The 30 seconds for which a lost copy counts, and what a busy machine adds. */
const LOST_MS = 60_000;
let app: TestApp;
let copies: [Program, Program];
const open: SseReader[] = [];

beforeAll(async () => {
  app = await startTestApp();
  const temporal = { address: '127.0.0.1:1', namespace: 'none', taskQueue: 'none' };
  const settings = {
    TRUST_PROXY: 'true',
    STREAMS_PER_USER: String(LIMIT),
    STREAMS_PER_ADDRESS: String(LIMIT + 2),
    LOG_LEVEL: 'fatal',
  };
  const start = (): Promise<Program> => startProgram('api', { ...app, temporal }, settings);
  copies = await Promise.all([start(), start()]);
});
afterEach(async () => {
  for (const stream of open.splice(0)) stream.drop();
  await until(rows, (count) => count === 0);
});
afterAll(async () => {
  for (const copy of copies) await copy.kill();
  await app.close();
});

async function rows(): Promise<number> {
  const [row] = await app.orm.em.fork().execute<{ count: number }[]>(
    `select count(*)::int as count from open_stream s join api_copy c on c.id = s.copy_id
      where c.expires_at > clock_timestamp()`,
  );
  return row?.count ?? 0;
}

/** @returns what the copy answers */
async function tryStream(copy: Program, { token }: TestUser, address = '203.0.113.1'): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': address };
  try {
    open.push(await openStream(`${copy.url}/events`, { headers }));
    return 'open';
  } catch (error) {
    return String(error);
  }
}
const isOpen = (answer: string): boolean => answer === 'open';

async function shown(copy: Program, { token }: TestUser): Promise<unknown> {
  const { body } = await createClient(copy.url, token).get('/usage/limits');
  const { limit, used, own, per } = body.limits.find(({ name }: { name: string }) => name === 'streams');
  return { limit, used, own, per };
}

test('many that come at once on two copies are exactly as many as allowed, and each shows them', async () => {
  const user = await app.createUser();
  const answers = await Promise.all(
    Array.from({ length: LIMIT * 4 }, (_, index) => tryStream(copies[index % 2 ? 1 : 0], user)),
  );
  expect(answers.filter(isOpen)).toHaveLength(LIMIT);
  const refused = answers.find((answer) => !isOpen(answer)) ?? '';
  expect(refused).toContain('429');
  for (const part of [
    'too_many_streams',
    '"quota":"streams"',
    '"setting":"STREAMS_PER_USER"',
    `"limit":${LIMIT}`,
  ])
    expect(refused).toContain(part);
  for (const copy of copies)
    expect(await shown(copy, user)).toEqual({ limit: LIMIT, used: LIMIT, own: false, per: null });
  // Whoever comes from the same address has what is left of the address, on whichever copy.
  const other = await app.createUser();
  const others = await Promise.all([0, 1, 0, 1].map((at) => tryStream(copies[at === 0 ? 0 : 1], other)));
  expect(others.filter(isOpen)).toHaveLength(2);
  expect(others.find((answer) => !isOpen(answer))).toContain('streams of an address is reached');
  // One that ends makes room on both.
  open[0]?.drop();
  await until(() => tryStream(copies[1], user, '203.0.113.2'), isOpen);
  expect(isOpen(await tryStream(copies[0], user, '203.0.113.3'))).toBe(false);
});

test('administrators give a user another number of streams', async () => {
  const user = await app.createUser();
  const admin = await app.as('admin');
  expect((await admin.patch(`/users/${user.id}`, { quotas: { streams: 1 } })).status).toBe(200);
  expect(isOpen(await tryStream(copies[0], user))).toBe(true);
  expect(await tryStream(copies[1], user)).toContain('The limit of 1 open streams of a user is reached');
  expect(await shown(copies[1], user)).toEqual({ limit: 1, used: 1, own: true, per: null });
  expect((await admin.patch(`/users/${user.id}`, { quotas: { streams: 0 } })).status).toBe(200);
  for (let count = 1; count < LIMIT + 2; count += 1)
    expect(isOpen(await tryStream(copies[1], user, `203.0.113.${count}`))).toBe(true);
});

test('streams of a killed copy stop counting, and a crash of the database forgets none', async () => {
  const user = await app.createUser();
  for (let count = 0; count < LIMIT; count += 1)
    expect(await tryStream(copies[count % 2 ? 1 : 0], user)).toBe('open');
  // As a crash does: the tables are not logged.
  await app.orm.em.fork().execute('delete from api_copy');
  expect(await rows()).toBe(0);
  await until(rows, (count) => count === LIMIT);
  await copies[0].kill();
  expect(isOpen(await tryStream(copies[1], user))).toBe(false);
  await until(
    async () => shown(copies[1], user),
    (state) => JSON.stringify(state).includes(`"used":${LIMIT / 2},`),
    LOST_MS,
  );
  const again = await Promise.all(Array.from({ length: LIMIT }, () => tryStream(copies[1], user)));
  expect(again.filter(isOpen)).toHaveLength(LIMIT / 2);
  await copies[0].start();
  expect(isOpen(await tryStream(copies[0], user))).toBe(false);
});
