import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createOrm, type Orm, type PoolState } from '../../../db/orm.ts';
import { Prepared } from '../../../db/prepared.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const SUM = new Prepared(
  'select ?::int + ?::int as sum, ?::text as name, extract(epoch from ?::timestamptz)::int as at',
);
const NOTHING = new Prepared('delete from request_count where minute = ?');
const NONE = new Prepared('select user_id, minute from request_count where minute = ?');
const RUNS = new Prepared('select count(*)::int as count from request_count where minute = ?');

let database: TestDatabase;
let orm: Orm;
beforeAll(async () => {
  database = await createTestDatabase();
  // One connection: what is prepared on it stays.
  orm = createOrm({ url: database.url, poolSize: 1 });
});
afterAll(async () => {
  await orm.close(true);
  await database.drop();
});

test('a statement is planned once for a connection, whatever its values are', async () => {
  const at = new Date('2026-01-02T03:04:05Z');
  for (const [one, other, name] of [
    [1, 2, null],
    [3, 4, "a ? and a ' in $1"],
  ] as const) {
    const [row] = await SUM.execute<{ sum: number; name: string | null; at: number }>(orm.em.fork(), [
      one,
      other,
      name,
      at,
    ]);
    expect(row).toEqual({ sum: one + other, name, at: at.getTime() / 1000 });
  }
  const known = await orm.em
    .fork()
    .execute<{ statement: string }[]>(`select statement from pg_prepared_statements`);
  expect(known).toEqual([
    {
      statement:
        'select $1::int + $2::int as sum, $3::text as name, extract(epoch from $4::timestamptz)::int as at',
    },
  ]);
});

test('its rows are the same at each use, which describes their columns only once', async () => {
  const at = new Date('2026-01-02T03:04:05Z');
  const rows = async (name: string | null) => SUM.execute(orm.em.fork(), [1, 2, name, at]);
  const inTransaction = orm.em.fork().transactional((em) => SUM.execute(em, [1, 2, null, at]));
  const expected = { sum: 3, name: null, at: at.getTime() / 1000 };
  expect(await inTransaction).toEqual([expected]);
  expect(await rows(null)).toEqual([expected]);
  expect(await rows('one')).toEqual([{ ...expected, name: 'one' }]);
  // Neither has rows: the first no columns either.
  for (let use = 0; use < 2; use++) {
    expect(await NOTHING.execute(orm.em.fork(), [at])).toEqual([]);
    expect(await NONE.execute(orm.em.fork(), [at])).toEqual([]);
  }
});

test('a failure leaves the connection and the statement usable', async () => {
  await expect(SUM.execute(orm.em.fork(), [1, 2_147_483_647, null, null])).rejects.toMatchObject({
    code: '22003',
  });
  expect(await SUM.execute(orm.em.fork(), [1, 2, null, null])).toEqual([{ sum: 3, name: null, at: null }]);
});

test('it runs in the transaction of its entity manager', async () => {
  const minute = new Date('2026-01-01T00:00:00Z');
  const count = async (em = orm.em.fork()): Promise<number> =>
    (await RUNS.execute<{ count: number }>(em, [minute]))[0]?.count ?? Number.NaN;
  const rolledBack = orm.em.fork().transactional(async (em) => {
    await em.execute(
      `insert into user_account (id, username, email, password_hash, roles)
       values ('00000000-0000-4000-8000-000000000001', 'prepared', 'p@example.com', 'x', '{viewer}')`,
    );
    await em.execute(`insert into request_count (user_id, minute, requests)
      values ('00000000-0000-4000-8000-000000000001', '2026-01-01T00:00:00Z', 1)`);
    expect(await count(em)).toBe(1);
    throw new Error('not kept');
  });
  await expect(rolledBack).rejects.toThrow('not kept');
  expect(await count()).toBe(0);
});

test('an error has its SQLSTATE', async () => {
  await expect(SUM.execute(orm.em.fork(), ['no number', 1, '', null])).rejects.toMatchObject({
    code: '22P02',
  });
});

test('what has only sent prepared statements leaves no connection open when it is closed', async () => {
  let pool: PoolState | undefined;
  const own = createOrm({ url: database.url, onPool: (created) => (pool = created) });
  await SUM.execute(own.em.fork(), [1, 2, null, null]);
  expect(pool?.totalCount).toBe(1);
  await own.close(true);
  expect(pool?.totalCount).toBe(0);
});
