import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lateFork } from '../../../db/late-fork.ts';
import { createOrm, type EntityManager, type Orm } from '../../../db/orm.ts';
import { Prepared } from '../../../db/prepared.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const ONE = new Prepared('select 1 as one');

let database: TestDatabase;
let orm: Orm;
let forks = 0;
let em: EntityManager;
beforeAll(async () => {
  database = await createTestDatabase();
  orm = createOrm({ url: database.url });
  em = Object.create(orm.em, {
    fork: {
      value: () => {
        forks += 1;
        return orm.em.fork();
      },
    },
  });
});
afterAll(async () => {
  await orm.close(true);
  await database.drop();
});

test('a prepared statement makes no entity manager, anything else makes one', async () => {
  const late = lateFork(em);
  expect(await ONE.execute(late, [])).toEqual([{ one: 1 }]);
  expect(forks).toBe(0);
  expect(await late.execute('select 2 as two')).toEqual([{ two: 2 }]);
  expect(await ONE.execute(late, [])).toEqual([{ one: 1 }]);
  await late.execute('select 3 as three');
  expect(forks).toBe(1);
});

test('its transactions are those of an entity manager', async () => {
  const late = lateFork(em);
  const rolledBack = late.transactional(async (tx) => {
    expect(tx.isInTransaction()).toBe(true);
    await tx.execute('create table never (id int)');
    throw new Error('not kept');
  });
  await expect(rolledBack).rejects.toThrow('not kept');
  await late.begin();
  expect(late.isInTransaction()).toBe(true);
  await late.rollback();
  expect(late.isInTransaction()).toBe(false);
  await expect(late.execute('select * from never')).rejects.toMatchObject({ code: '42P01' });
});
