/** A connection that is lost within a transaction leaves the pool, and its place is free again. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { createOrm, type Orm, type PoolState } from '../../../db/orm.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

let database: TestDatabase;
let killer: Orm;

beforeAll(async () => {
  database = await createTestDatabase();
  killer = createOrm({ url: database.url });
});
afterAll(async () => {
  await killer.close(true);
  await database.drop();
});

const kill = (pid: number) => killer.em.fork().execute('select pg_terminate_backend(?)', [pid]);

test.each(['while a statement runs', 'between two statements'])('lost %s', async (when) => {
  let pool: PoolState | undefined;
  const orm = createOrm({ url: database.url, poolSize: 2, onPool: (created) => (pool = created) });
  for (let n = 0; n < 3; n++) {
    const lost = orm.em.fork().transactional(async (em) => {
      const [{ pid } = { pid: 0 }] = await em.execute<{ pid: number }[]>('select pg_backend_pid() as pid');
      if (when === 'between two statements') await kill(pid);
      else await Promise.all([em.execute('select pg_sleep(60)'), kill(pid)]);
      await em.execute('select 1');
    });
    await expect(lost).rejects.toThrow();
  }
  expect(await orm.em.fork().execute('select 1 as one')).toEqual([{ one: 1 }]);
  expect(pool?.totalCount).toBe(pool?.idleCount);
  await orm.close(true);
});
