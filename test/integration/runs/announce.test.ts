/** Readers of logs learn of the begins of calls, though the appends themselves notify nobody. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { createAnnounce } from '../../../activities/announce.ts';
import { createLogger } from '../../../config/logger.ts';
import { createOrm, type Orm } from '../../../db/orm.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import { appendEvents, serviceEvent } from '../../../domain/runs/events.ts';
import { beginInvocation } from '../../../domain/runs/invocations.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { insertRun } from '../../support/human-tasks.ts';
import { until } from '../../support/platform.ts';

const LOG = { name: 'test', level: 'silent' };
const logger = createLogger(LOG);
let app: TestApp;
let orm: Orm;
let listener: pg.Client;
let heard: string[] = [];

beforeAll(async () => {
  app = await startTestApp();
  orm = createOrm({ url: app.databaseUrl });
  listener = new pg.Client({ connectionString: app.databaseUrl });
  await listener.connect();
  listener.on('notification', ({ payload = '' }) => heard.push(payload));
  await listener.query('listen run_event');
});
beforeEach(() => {
  heard = [];
});
afterAll(async () => {
  await listener.end();
  await orm.close(true);
  await app.close();
});

/** Notifications arrive in the order of their commits, so all before this one have arrived as well. */
async function allHeard(): Promise<string[]> {
  const mark = `mark ${randomUUID()}`;
  await orm.em.fork().execute(`select pg_notify('run_event', ?)`, [mark]);
  await until(
    async () => heard,
    (payloads) => payloads.includes(mark),
  );
  return heard.filter((payload) => !payload.startsWith('mark'));
}

test('the begin of a call notifies nobody within its transaction, another append does', async () => {
  const { id: owner } = await app.user('builder');
  const run = await insertRun(orm, { owner, status: 'running' });
  const batch = (key: string) => ({
    events: [serviceEvent({ key, type: EVENT.taskStarted, message: 'Call started' })],
    projection: null,
    acks: [],
  });
  const call = { task: '/do/0/call', name: 'call', visit: 1, attempt: 1, pin: null, digest: '00' };
  const begun = await beginInvocation(
    orm.em.fork(),
    run,
    batch('first'),
    { ...call, key: 'call', order: { scheduledMs: 1, attempt: 1 } },
    [],
  );
  expect(begun.closed).toBe(false);
  expect(await allHeard()).toEqual([]);
  await appendEvents(orm.em.fork(), run, batch('second'));
  expect(await allHeard()).toEqual([run]);
});

test('runs are announced at once, and those that follow with one notification for each', async () => {
  const announce = createAnnounce({ orm, logger });
  announce('first');
  await until(
    async () => heard,
    (payloads) => payloads.length === 1,
  );
  for (const id of ['second', 'third', 'second', 'second']) announce(id);
  await until(
    async () => heard,
    (payloads) => payloads.includes('third'),
  );
  expect(await allHeard()).toEqual(['first', 'second', 'third']);
});

test('a failure loses what it was to announce, not what comes later', async () => {
  const other = createOrm({ url: app.databaseUrl });
  const warn = jest.fn();
  const announce = createAnnounce({ orm: other, logger: Object.assign(createLogger(LOG), { warn }) });
  const database = new URL(app.databaseUrl).pathname.slice(1);
  const elsewhere = new pg.Client({ connectionString: app.databaseUrl.replace(database, 'postgres') });
  await elsewhere.connect();
  await elsewhere.query(`alter database ${database} with allow_connections false`);
  try {
    announce('lost');
    await until(
      async () => warn.mock.calls,
      (calls) => calls.length === 1,
    );
  } finally {
    await elsewhere.query(`alter database ${database} with allow_connections true`);
    await elsewhere.end();
  }
  announce('kept');
  await until(
    async () => heard,
    (payloads) => payloads.includes('kept'),
  );
  expect(heard).toEqual(['kept']);
  await other.close(true);
});

test('a run that is announced just as the sending ends is not left behind', async () => {
  let failures = 1;
  const em = {
    fork: () => {
      failures -= 1;
      if (failures >= 0) throw new Error('no connection');
      return orm.em.fork();
    },
  };
  const warn = jest.fn(() => announce('behind'));
  const announce = createAnnounce({
    orm: { em } as unknown as Orm,
    logger: Object.assign(createLogger(LOG), { warn }),
  });
  announce('first');
  await until(
    async () => heard,
    (payloads) => payloads.includes('behind'),
  );
  expect(warn).toHaveBeenCalledTimes(1);
});
