/** A worker that starts before `migrate` waits for it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Logger } from '../../../config/logger.ts';
import { migrate } from '../../../db/migrate.ts';
import { migrationNames } from '../../../db/migrations/index.ts';
import { createOrm, type Orm } from '../../../db/orm.ts';
import { schemaIsThere } from '../../../worker/schema-is-there.ts';
import { until } from '../../support/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const warnings: string[] = [];
// Only this method is used.
const logger = { warn: (text: string) => void warnings.push(text) } as unknown as Logger;

let database: TestDatabase;
let orm: Orm;
beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
  orm = createOrm({ url: database.url });
});
afterAll(async () => {
  await orm.close(true);
  await database.drop();
});

test('an empty schema and that of an earlier release are waited for, and said once', async () => {
  let isThere = false;
  let looks = 0;
  const fork = () => {
    looks += 1;
    return orm.em.fork();
  };
  const waiting = schemaIsThere(fork, logger).then(() => {
    isThere = true;
  });
  await until(
    async () => warnings.length,
    (count) => count > 0,
  );
  await migrate(database.url, { only: migrationNames.slice(0, -1) });
  // Three statements each: at least one more whole look, at the schema of an earlier release.
  const before = looks;
  await until(
    async () => looks,
    (count) => count > before + 6,
  );
  expect(isThere).toBe(false);
  await migrate(database.url);
  await waiting;
  expect(warnings).toEqual(['the schema is not that of this release yet: waiting for npm run migrate']);
});
