/** Old entries of the audit log are removed after their time, and nothing else passes for that. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';

import { migrate } from '../../../db/migrate.ts';
import { createOrm, type EntityManager, type Orm } from '../../../db/orm.ts';
import { pruneAudit, pruneInBatches } from '../../../domain/audit/prune.ts';
import { hashOfRemoval, newestRemoval } from '../../../domain/audit/removals.ts';
import { sealAudit } from '../../../domain/audit/seal.ts';
import { verifyAudit, type Verification } from '../../../domain/audit/verify.ts';
import { patience } from '../../support/app.ts';
import { until } from '../../support/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

let database: TestDatabase;
let orm: Orm;

beforeEach(async () => {
  database = await createTestDatabase();
  orm = createOrm({ url: database.url, ...patience });
});
afterEach(async () => {
  await orm.close(true);
  await database.drop();
});

const fork = (): EntityManager => orm.em.fork();
const check = (em = fork(), expected: { no: string; hash: string }[] = []): Promise<Verification> =>
  verifyAudit(em, { after: 0n, expected });
const problemsIn = ({ problems }: Verification): string[] =>
  problems.map(({ code, seal }) => `${code} ${seal}`);

/** Entries of so many days ago, with a seal of their own. Only the table's owner can give them a time. */
async function seal(daysAgo: number, actions: readonly string[] = ['old']): Promise<void> {
  for (const action of actions)
    await fork().execute(
      `insert into audit_entry (at, action, outcome, credential, via)
       values (now() - make_interval(days => ?), ?, 'done', 'none', 'system')`,
      [daysAgo, action],
    );
  // A transaction of another test, in any database of the server, holds back what comes after it.
  await until(
    () => sealAudit(fork),
    (head) => head !== null,
  );
}

/** What somebody with all rights does, and is then found; rolled back. */
async function foundAfter(...statements: string[]): Promise<string[]> {
  const found: string[] = [];
  const rollback = new Error('rolled back');
  const tamper = fork().transactional(async (em) => {
    await em.execute('set local session_replication_role = replica');
    for (const statement of statements) await em.execute(statement);
    found.push(...problemsIn(await check(em)));
    throw rollback;
  });
  await expect(tamper).rejects.toBe(rollback);
  return found;
}

const insertEntry = (values: string): string =>
  `insert into audit_entry (action, outcome, credential, via, object_type, object_id, data)
   values (${values})`;
const forgedEntry = insertEntry(
  `'audit_prune', 'done', 'none', 'system', 'audit_seal', '999999', '{"days": 30}'`,
);

test('old entries go with whole seals, the chain holds, and a note says after how many days', async () => {
  await seal(50, ['a', 'b']);
  await seal(40);
  await seal(1);
  expect(await pruneAudit(fork, 365)).toBeNull();
  const { head } = await check();
  expect(await pruneAudit(fork, 30)).toMatchObject({ entries: 3, seal: '2', days: 30, no: '1' });
  expect(await check(fork(), [head!, { no: '1', hash: await sealHash('1') }])).toMatchObject({
    ok: true,
    seals: 3,
    removed: 2,
    removed_after_days: 30,
    entries: 1,
  });
  expect(await pruneAudit(fork, 30)).toBeNull();
  const rows = await fork().execute<{ action: string; data: object }[]>(
    `select action, data from audit_entry order by id`,
  );
  expect(rows.map(({ action }) => action)).toEqual(['old', 'audit_prune']);
  expect(rows[1]?.data).toMatchObject({ entries: 3, days: 30, removal: { no: '1' } });
});

test('many old entries go in batches of whole seals, and a large seal goes alone', async () => {
  const many = (count: number): Promise<unknown> =>
    fork().execute(
      `insert into audit_entry (at, action, outcome, credential, via)
       select now() - interval '50 days', 'old', 'done', 'none', 'system' from generate_series(1, ?::int)`,
      [count],
    );
  for (const count of [1_500, 1_500, 1_500, 6_000, 100]) {
    await many(count);
    await seal(50, []);
  }
  await seal(1);
  const batches: { entries: number; seal: string }[] = [];
  const { signal } = new AbortController();
  const rounds = { days: 30, budgetMs: 120_000, signal };
  await pruneInBatches(fork, {
    ...rounds,
    onBatch: ({ entries, seal: no }) => batches.push({ entries, seal: no }),
  });
  expect(batches).toEqual([
    { entries: 3_000, seal: '2' },
    { entries: 1_500, seal: '3' },
    { entries: 6_000, seal: '4' },
    { entries: 100, seal: '5' },
  ]);
  expect(await check()).toMatchObject({ ok: true, removed: 5, entries: 1 });
  // A process that stops begins no other batch.
  const stopped = AbortSignal.abort();
  await seal(50);
  await pruneInBatches(fork, { ...rounds, signal: stopped, onBatch: () => expect('a batch').toBe('none') });
});

test('a removal follows the one before, and the database computes the hash as the check does', async () => {
  await seal(50);
  await seal(40);
  await seal(35);
  expect(await pruneAudit(fork, 45)).toMatchObject({ no: '1', seal: '1' });
  expect(await pruneAudit(fork, 30)).toMatchObject({ no: '2', seal: '3' });
  const note = await newestRemoval(fork());
  expect(note).toMatchObject({ first_seal: '2', last_seal: '3', days: 30 });
  expect(note!.hash.equals(hashOfRemoval(note!))).toBe(true);
  expect(await check()).toMatchObject({ ok: true, removed: 3, removed_after_days: 30 });
});

test('an entry that says it is of a removal hides nothing', async () => {
  await seal(1, ['a', 'b']);
  await fork().execute(forgedEntry);
  const changed = `update audit_entry set action = 'changed' where action = 'a'`;
  expect(await foundAfter(changed)).toEqual(['changed_entries 1']);
  expect(await foundAfter(`delete from audit_entry where action = 'a'`)).toEqual(['missing_entries 1']);
});

test('no setting of a session lets an entry go, and neither does a note of another transaction', async () => {
  await seal(50);
  await seal(1);
  const remove = (...before: string[]) =>
    fork().transactional(async (em) => {
      for (const statement of before) await em.execute(statement);
      await em.execute('delete from audit_entry');
    });
  await expect(remove(`set local cadenza.prunes_audit = 'on'`)).rejects.toThrow('append-only');
  // With a note in the same transaction only entries of that age go.
  const note = 'insert into audit_removal (last_seal, days) values (1, 30)';
  await expect(remove(note)).rejects.toThrow('append-only');
  expect(await check()).toMatchObject({ ok: true, entries: 2, removed: 0 });
  await pruneAudit(fork, 30);
  await expect(remove()).rejects.toThrow('append-only');
});

test('a note of a short time, of young entries or of no seal is refused, and none is changed', async () => {
  await seal(50);
  await seal(20);
  const note = (lastSeal: number, days: number): Promise<unknown> =>
    fork().execute('insert into audit_removal (last_seal, days) values (?, ?)', [lastSeal, days]);
  await expect(note(1, 29)).rejects.toThrow('too young');
  await expect(note(1, 60)).rejects.toThrow('too young');
  await expect(note(2, 30)).rejects.toThrow('too young');
  await expect(note(3, 30)).rejects.toThrow('missing');
  await note(1, 30);
  await expect(note(1, 30)).rejects.toThrow('missing');
  for (const statement of [
    'update audit_removal set days = 31',
    'delete from audit_removal',
    'truncate audit_removal',
  ])
    await expect(fork().execute(statement)).rejects.toThrow('append-only');
});

test('forged and changed notes are found, also with the right hash', async () => {
  await seal(50);
  await seal(40);
  await pruneAudit(fork, 45);
  await seal(1);
  const forged = (seals: string, hash: string): string =>
    `insert into audit_removal (no, first_seal, last_seal, seal_hash, days, removed_at, previous_hash, hash)
     select 2, ${seals}, s.hash, 30, now(), r.hash, ${hash} from audit_seal s, audit_removal r
      where s.no = (array[${seals}])[2] and r.no = 1`;
  const computed = `update audit_removal r set hash = hash_audit_removal(r) where no = 2`;
  expect(await foundAfter(forged('2, 3', `sha256('x')`))).toEqual(['changed_removal 3']);
  expect(await foundAfter(forged('2, 3', `sha256('x')`), computed, 'delete from audit_entry')).toEqual([
    'early_removal 3',
  ]);
  expect(await foundAfter(forged('3, 3', `sha256('x')`), computed)).toEqual(['changed_removal 3']);
  expect(await foundAfter('update audit_removal set days = 31')).toContain('changed_removal 1');
  expect(await foundAfter('delete from audit_removal')).toEqual(['missing_entries 1']);
  expect(
    await foundAfter(
      'update audit_removal set last_seal = 9',
      'update audit_removal r set hash = hash_audit_removal(r)',
    ),
  ).toContain('changed_removal 9');
});

test('an entry that is added where entries were removed is found', async () => {
  await seal(50);
  const [row] = await fork().execute<{ tx: string }[]>('select tx::text as tx from audit_entry');
  await pruneAudit(fork, 30);
  expect(
    await foundAfter(
      `insert into audit_entry (tx, action, outcome, credential, via)
       values ('${row!.tx}'::xid8, 'forged', 'done', 'none', 'system')`,
    ),
  ).toEqual(['changed_entries 1']);
});

test('a noted head of which the seal is gone is told, also where entries were removed', async () => {
  await seal(50);
  await seal(1);
  await pruneAudit(fork, 30);
  const head = { no: '1', hash: await sealHash('1') };
  const rollback = new Error('rolled back');
  await expect(
    fork().transactional(async (em) => {
      await em.execute('set local session_replication_role = replica');
      await em.execute('delete from audit_seal where no = 1');
      expect(problemsIn(await check(em, [head]))).toContain('missing_seal 1');
      throw rollback;
    }),
  ).rejects.toBe(rollback);
});

test('removals that the log noted as entries before count on, unless they do not fit', async () => {
  await seal(50);
  await seal(45);
  await seal(1);
  const formerNote = async (no: string): Promise<string> =>
    insertEntry(
      `'audit_prune', 'done', 'none', 'system', 'audit_seal', '${no}',
       '{"hash": "${await sealHash(no)}", "entries": 1, "days": 30}'`,
    );
  await fork().transactional(async (em) => {
    await em.execute('set local session_replication_role = replica');
    await em.execute(`delete from audit_entry where action = 'old' and at < now() - interval '30 days'`);
  });
  for (const no of ['1', '2', '3']) await fork().execute(await formerNote(no));
  // The schema of before.
  await fork().execute('drop table audit_removal cascade');
  await fork().execute(`delete from schema_migration where name = '202611290108-audit-removals'`);
  expect((await migrate(database.url)).migrations).toEqual(['202611290108-audit-removals']);
  expect(await check()).toMatchObject({ ok: true, seals: 3, removed: 2, removed_after_days: 30 });
  expect(await newestRemoval(fork())).toMatchObject({ no: '2', first_seal: '2', last_seal: '2' });
  await seal(40);
  expect(await pruneAudit(fork, 30)).toBeNull();
});

async function sealHash(no: string): Promise<string> {
  const [row] = await fork().execute<{ hash: string }[]>(
    `select encode(hash, 'hex') as hash from audit_seal where no = ?`,
    [no],
  );
  return row!.hash;
}
