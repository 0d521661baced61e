/** An api or worker that starts before its database or `migrate` waits, and says once what for. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Logger } from '../../../config/logger.ts';
import { migrate } from '../../../db/migrate.ts';
import { migrationNames } from '../../../db/migrations/index.ts';
import { createOrm, type Orm } from '../../../db/orm.ts';
import type { FileStore } from '../../../domain/files/ports.ts';
import { settleProcess } from '../../../domain/operations/settle-start.ts';
import { createVerifiedTemporal } from '../../../domain/operations/verified-temporal.ts';
import type { TemporalGateway } from '../../../domain/ports.ts';
import { until } from '../../support/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const env = {
  ENCRYPTION_KEYS: [{ id: 'first', key: randomBytes(32) }],
  FILES_LARGE_VALUES: false,
};
const temporal = { namespaceId: async () => 'the first' };
// Only this method is used without FILES_LARGE_VALUES.
const files = { ping: async () => true } as unknown as FileStore;

let database: TestDatabase;
const orms: Orm[] = [];
beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
});
afterAll(async () => {
  for (const orm of orms) await orm.close(true);
  await database.drop();
});

/** @returns what it says, how often it has looked, and whether it has settled */
function settle(url: string, namespaceId = temporal.namespaceId) {
  const orm = createOrm({ url });
  orms.push(orm);
  const said: string[] = [];
  const say = (first: unknown, second?: string): void => void said.push(second ?? String(first));
  const logger = { warn: say, error: say } as unknown as Logger;
  const state = { said, looks: 0, isSettled: false, settled: Promise.resolve() };
  const fork = () => {
    state.looks += 1;
    return orm.em.fork();
  };
  // Only this method is used.
  const gateway = { namespaceId } as unknown as TemporalGateway;
  const { verify: verifyTemporal } = createVerifiedTemporal(gateway, { fork, acceptNew: false });
  state.settled = settleProcess({ fork, files, verifyTemporal, logger }, env).then(() => {
    state.isSettled = true;
  });
  return state;
}

test('an empty schema and that of an earlier release are waited for, and said once', async () => {
  const start = settle(database.url);
  await until(
    async () => start.said.length,
    (count) => count > 0,
  );
  await migrate(database.url, { only: migrationNames.slice(0, -1) });
  // Three statements each: at least one more whole look, at the schema of an earlier release.
  const before = start.looks;
  await until(
    async () => start.looks,
    (looks) => looks > before + 6,
  );
  expect(start.isSettled).toBe(false);
  await migrate(database.url);
  await start.settled;
  expect(start.said).toEqual(['the schema is not that of this release yet: waiting for npm run migrate']);
});

test('what was verified is not asked again while only Temporal is away', async () => {
  let asked = 0;
  const start = settle(database.url, async () => {
    asked += 1;
    if (asked < 2) throw new Error('Temporal is away');
    return 'the first';
  });
  await start.settled;
  const before = start.looks;
  await until(
    async () => start.looks,
    (looks) => looks > before,
  );
  expect(asked).toBe(2);
  // Nothing but the namespace is compared.
  expect(start.looks).toBe(before + 1);
  expect(start.said).toEqual([]);
});

test('a database that does not exist is named as such once, and waited for', async () => {
  const url = new URL(database.url);
  url.pathname = `${url.pathname}_later`;
  const server = new URL(database.url);
  server.pathname = '/postgres';
  const admin = createOrm({ url: server.href });
  orms.push(admin);
  const start = settle(url.href);
  await until(
    async () => start.looks,
    (looks) => looks > 1,
  );
  expect(start.said).toEqual([
    'the database that DATABASE_URL names does not exist: create it and migrate (npm run migrate)',
  ]);
  const name = url.pathname.slice(1);
  await admin.em.fork().execute(`create database "${name}"`);
  await migrate(url.href);
  await start.settled;
  for (const orm of orms.splice(0)) if (orm !== admin) await orm.close(true);
  await admin.em.fork().execute(`drop database "${name}" with (force)`);
  await admin.close(true);
});
