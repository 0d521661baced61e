import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createOrm, type Orm, type PoolState } from '../../../db/orm.ts';
import { Prepared, PreparedByName } from '../../../db/prepared.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const SUM = new Prepared(
  'select ?::int + ?::int as sum, ?::text as name, extract(epoch from ?::timestamptz)::int as at',
);
const NOTHING = new Prepared('delete from request_count where minute = ?');
const BY_NAME = new PreparedByName('select :a::int * :a::int + :b_1::int as sum, :text::text as text');
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

const XACT = new Prepared('select pg_current_xact_id()::text as id, ?::int as value');
const INSERT = new Prepared(`insert into request_count (user_id, minute, requests) values (?, ?, ?)`);
const USER = '00000000-0000-4000-8000-000000000002';

async function rowsOfUser(): Promise<unknown[]> {
  return orm.em.fork().execute('select requests from request_count where user_id = ? order by 1', [USER]);
}

test('a transaction begins with its first statement, prepared or not, and has all of them', async () => {
  for (const first of ['prepared', 'plain'] as const) {
    const ids = await orm.em.fork().transactional(async (em) => {
      const plain = async () => em.execute<{ id: string }[]>('select pg_current_xact_id()::text as id');
      const prepared = async () => XACT.execute<{ id: string }>(em, [1]);
      const rows = first === 'plain' ? [...(await plain()), ...(await prepared())] : await prepared();
      return [...rows, ...(await plain())].map(({ id }) => id);
    });
    expect(new Set(ids).size).toBe(1);
  }
});

test('a transaction without statements, and one whose first one fails, leave nothing open', async () => {
  await orm.em.fork().transactional(async () => {});
  await expect(
    orm.em.fork().transactional(async () => {
      throw new Error('before its first statement');
    }),
  ).rejects.toThrow('before its first statement');
  const failing = orm.em.fork().transactional((em) => SUM.execute(em, ['no number', 1, '', null]));
  await expect(failing).rejects.toMatchObject({ code: '22P02' });
  const [first] = await XACT.execute<{ id: string }>(orm.em.fork(), [1]);
  const [second] = await XACT.execute<{ id: string }>(orm.em.fork(), [1]);
  expect(first?.id).not.toBe(second?.id);
});

test('a statement that fails at its first use is prepared at the next one', async () => {
  const fresh = new Prepared('select (?::int / ?::int)::int as quotient');
  await expect(fresh.execute(orm.em.fork(), [1, 0])).rejects.toMatchObject({ code: '22012' });
  expect(await fresh.execute(orm.em.fork(), [6, 3])).toEqual([{ quotient: 2 }]);
});

test('the last statement commits, unless it fails; after it, the transaction takes no other', async () => {
  await orm.em.fork().execute(
    `insert into user_account (id, username, email, password_hash, roles)
     values (?, 'committed', 'c@example.com', 'x', '{viewer}')`,
    [USER],
  );
  const insert = (em: Orm['em'], minute: string, requests: number, isLast = false) =>
    isLast
      ? INSERT.executeAndCommit(em, [USER, minute, requests])
      : INSERT.execute(em, [USER, minute, requests]);
  await orm.em.fork().transactional(async (em) => {
    await insert(em, '2026-01-01T00:00:00Z', 1);
    await insert(em, '2026-01-01T00:01:00Z', 2, true);
    // The pool has one connection, so nothing else can look from outside.
    await expect(insert(em, '2026-01-01T00:02:00Z', 3)).rejects.toThrow('has been committed');
  });
  expect(await rowsOfUser()).toEqual([{ requests: 1 }, { requests: 2 }]);

  const twice = orm.em.fork().transactional(async (em) => {
    await insert(em, '2026-01-01T00:03:00Z', 4);
    await insert(em, '2026-01-01T00:03:00Z', 5, true);
  });
  await expect(twice).rejects.toMatchObject({ code: '23505' });
  const late = orm.em.fork().transactional(async (em) => {
    await insert(em, '2026-01-01T00:04:00Z', 6, true);
    throw new Error('too late');
  });
  await expect(late).rejects.toThrow('too late');
  expect(await rowsOfUser()).toEqual([{ requests: 1 }, { requests: 2 }, { requests: 6 }]);
  // Without a transaction it is a statement like any other.
  await insert(orm.em.fork(), '2026-01-01T00:05:00Z', 7, true);
  expect(await rowsOfUser()).toHaveLength(4);
});

test('what a constraint refuses at the commit is an error of the last statement', async () => {
  const now = new Prepared('select ?::int as value');
  const em = orm.em.fork();
  await em.execute(`create table deferred (id int primary key, other int references deferred (id)
                      deferrable initially deferred)`);
  const refused = orm.em.fork().transactional(async (inside) => {
    await inside.execute('insert into deferred values (1, 2)');
    await now.executeAndCommit(inside, [1]);
  });
  await expect(refused).rejects.toMatchObject({ code: '23503' });
  expect(await orm.em.fork().execute('select id from deferred')).toEqual([]);
  expect(await now.execute(orm.em.fork(), [2])).toEqual([{ value: 2 }]);
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

test('values are given by name, as often as the statement has it; a missing one is an error', async () => {
  const values = { a: 3, b_1: 4, text: ':a' };
  expect(await BY_NAME.execute(orm.em.fork(), values)).toEqual([{ sum: 13, text: ':a' }]);
  expect(() => BY_NAME.execute(orm.em.fork(), { a: 3, b_1: 4 })).toThrow('a value of text');
});
