/** What calls produce goes to those who follow their run: bounded, and without any call waiting. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { pino } from 'pino';
import { createPartialOutputs, type PartialOutputs } from '../../../activities/partial-outputs.ts';
import type { PartialOutput } from '../../../contracts/partial-output.ts';
import { createOrm, type Orm } from '../../../db/orm.ts';
import { followedAmong, noteFollowed } from '../../../domain/runs/partial-output.ts';
import { createSensitive } from '../../../adapters/secrets/sensitive.ts';
import { patience } from '../../support/app.ts';
import { allowedMs } from '../../support/machine.ts';
import { until } from '../../support/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const WHOLE = { isWhole: true };

let database: TestDatabase;
let orm: Orm;
let listener: pg.Client;
let partials: PartialOutputs;
let payloads: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  orm = createOrm({ url: database.url, ...patience });
  partials = createPartialOutputs({ orm, logger: pino({ level: 'silent' }) });
  listener = new pg.Client({ connectionString: database.url });
  await listener.connect();
  listener.on('notification', ({ payload = '' }) => payloads.push(payload));
  await listener.query('listen run_partial');
});
beforeEach(() => {
  payloads = [];
});
afterAll(async () => {
  await listener.end();
  await orm.close(true);
  await database.drop();
});

const open = (task = '/do/0/ask', secrets: Record<string, string> = {}) => {
  const runId = randomUUID();
  const call = partials.open({ run_id: runId, task, visit: 1, attempt: 1 });
  call.redactBy(createSensitive(new Map(Object.entries(secrets))));
  return { runId, call };
};
const followed = (...runIds: string[]): Promise<void> => noteFollowed(orm.em.fork(), runIds);
const got = (runId: string): PartialOutput[] =>
  payloads
    .map((payload) => JSON.parse(payload) as [string, PartialOutput])
    .filter(([id]) => id === runId)
    .map(([, partial]) => partial);
const textOf = (runId: string): string =>
  got(runId)
    .map(({ text }) => text)
    .join('');

test('a run that nobody follows notifies nobody, and a late follower gets the end of the text', async () => {
  const [watched, other] = [open(), open()];
  const text = Array.from({ length: 20_000 }, (_, index) => String.fromCharCode(97 + (index % 26))).join('');
  for (const { call } of [watched, other]) call.output(text);
  await followed(watched.runId);
  await until(
    async () => textOf(watched.runId),
    (now) => now.length === 8_192,
  );
  expect([textOf(watched.runId), got(watched.runId)[0]?.offset]).toEqual([
    text.slice(-8_192),
    20_000 - 8_192,
  ]);
  watched.call.progress('thinking');
  watched.call.output('.');
  await Promise.all([watched.call.end(WHOLE), other.call.end(WHOLE)]);
  await until(
    async () => got(watched.runId).slice(-2),
    ([progress, last]) => progress?.text === 'thinking' && last?.text === '.' && last.offset === 20_000,
  );
  expect(got(other.runId)).toEqual([]);
});

test('a notification stays under the limit of PostgreSQL, whatever text and pointer are', async () => {
  const worst = '\u0001\ud83d'.repeat(2_000);
  const [deep, deeper] = [open(`/do/0/${'ä'.repeat(2_000)}`), open(`/do/0/${'ä'.repeat(4_000)}`)];
  await followed(deep.runId, deeper.runId);
  for (const { call } of [deep, deeper]) call.output(worst);
  await until(
    async () => textOf(deep.runId).length,
    (length) => length === worst.length,
  );
  expect(textOf(deep.runId)).toBe(worst);
  expect(Math.max(...payloads.map((payload) => Buffer.byteLength(payload)))).toBeLessThan(8_000);
  // Its pointer alone is too long.
  expect(got(deeper.runId)).toEqual([]);
  await Promise.all([deep.call.end(WHOLE), deeper.call.end(WHOLE)]);
});

test('secrets are redacted before text is dropped, and without a redaction nothing is shown', async () => {
  const secret = 'sk-live-0123456789abcdef';
  const { runId, call } = open('/do/0/ask', { KEY: secret });
  const silent = partials.open({ run_id: runId, task: '/do/1/ask', visit: 1, attempt: 1 });
  silent.output(secret);
  call.output(`${'x'.repeat(16_390)}${secret.slice(0, 10)}`);
  call.output(secret.slice(10));
  call.output('y'.repeat(8_180));
  await followed(runId);
  await until(
    async () => textOf(runId),
    (text) => text.endsWith('y') && text.length >= 8_192,
  );
  await Promise.all([call.end(WHOLE), silent.end(WHOLE)]);
  expect(textOf(runId).replaceAll(/^x+|y+$/g, '')).not.toMatch(/0123|sk-l/);
  expect(got(runId).every(({ task }) => task === '/do/0/ask')).toBe(true);
});

test('a call that breaks off in the middle of a secret does not show its beginning', async () => {
  const beginning = 'sk-live-0123456789abcde';
  const secrets = { KEY: `${beginning}f` };
  const [broken, whole] = [open('/do/0/ask', secrets), open('/do/0/ask', secrets)];
  await followed(broken.runId, whole.runId);
  for (const { call } of [broken, whole]) call.output(`text ${beginning}`);
  for (const { runId } of [broken, whole])
    await until(
      async () => textOf(runId),
      (text) => text === 'text ',
    );
  await broken.call.end({ isWhole: false });
  await whole.call.end(WHOLE);
  await until(
    async () => textOf(whole.runId),
    (text) => text === `text ${beginning}`,
  );
  expect(textOf(broken.runId)).toBe('text ');
});

test('no call waits for a database that does not answer', async () => {
  const { runId, call } = open();
  await followed(runId);
  call.output('first');
  await until(
    async () => textOf(runId),
    (text) => text === 'first',
  );
  const blocker = new pg.Client({ connectionString: database.url });
  await blocker.connect();
  await blocker.query('begin; lock table run_follower in access exclusive mode');
  const from = performance.now();
  call.output('second');
  await call.end(WHOLE);
  expect(performance.now() - from).toBeLessThan(allowedMs(2_000));
  await blocker.query('rollback');
  await blocker.end();
});

test('runs that nobody follows any more are forgotten', async () => {
  const [gone, kept] = [randomUUID(), randomUUID()];
  await followed(gone, kept);
  await orm.em
    .fork()
    .execute(`update run_follower set until = now() - interval '2 minutes' where run_id = ?`, [gone]);
  expect(await followedAmong(orm.em.fork(), [gone, kept])).toEqual(new Set([kept]));
  await followed(kept);
  const rows = await orm.em
    .fork()
    .execute<{ count: number }[]>(`select count(*)::int as count from run_follower where run_id = ?`, [gone]);
  expect(rows[0]?.count).toBe(0);
});
