/** The audit log oldest first: for a program that asks again with its last cursor, each entry comes once. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';

import { createOrm, type EntityManager, type Orm } from '../../../db/orm.ts';
import { followAudit, type AuditPlace } from '../../../domain/audit/follow.ts';
import { isLoggedAction } from '../../../domain/audit/list.ts';
import { pruneAudit } from '../../../domain/audit/prune.ts';
import { sealAudit } from '../../../domain/audit/seal.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../../../domain/audit/write.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { agentBody } from '../../support/agent-body.ts';
import { patience, startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { explainAll, keepStatements } from '../../support/plans.ts';
import { until } from '../../support/platform.ts';
import { sealAll } from '../../support/seals.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const TEAM = '00000000-0000-7000-8000-000000000002';
const ROOT: Actor = {
  id: '00000000-0000-7000-8000-000000000001',
  username: 'root',
  roles: ['admin'],
  groups: [],
};

describe('on a database', () => {
  let database: TestDatabase;
  let orm: Orm;

  beforeEach(async () => {
    database = await createTestDatabase();
    orm = createOrm({ url: database.url, poolSize: 20, ...patience });
  });
  afterEach(async () => {
    await orm.close(true);
    await database.drop();
  });

  const fork = (): EntityManager => orm.em.fork();
  const write = (action: string, em = fork()) => writeAudit(em, SYSTEM_ORIGIN, { action });
  const follow = (after: AuditPlace | null, limit = 100, filter = {}) =>
    followAudit(fork(), ROOT, filter, { after, limit });
  const actionsAfter = async (after: AuditPlace | null): Promise<string[]> =>
    (await follow(after)).entries.map(({ action }) => action);
  const seal = (): Promise<void> => sealAll(fork);
  /** Entries of so many days ago, with a seal of their own. */
  const oldSeal = async (daysAgo: number, ...actions: string[]): Promise<void> => {
    for (const action of actions)
      await fork().execute(
        `insert into audit_entry (at, action, outcome, credential, via)
         values (now() - make_interval(days => ?), ?, 'done', 'none', 'system')`,
        [daysAgo, action],
      );
    await seal();
  };

  test('of many writers at once it gives each entry once, in one order, none below a cursor', async () => {
    let isWriting = true;
    const sealing = (async () => {
      while (isWriting) await sealAudit(fork);
    })();
    const seen: string[] = [];
    let place: AuditPlace | null = null;
    const read = async (limit: number): Promise<boolean> => {
      const { entries, next } = await follow(place, limit);
      seen.push(...entries.map(({ id }) => id));
      const isNew = JSON.stringify(next) !== JSON.stringify(place);
      place = next;
      return isNew;
    };
    const following = (async () => {
      while (isWriting) await read(7);
    })();
    await Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        for (let turn = 0; turn < 25; turn += 1)
          await fork().transactional(async (em) => {
            await write(`first ${writer}`, em);
            await em.execute('select pg_sleep(random() * 0.01)');
            await write(`second ${writer}`, em);
          });
      }),
    );
    isWriting = false;
    await Promise.all([sealing, following]);
    expect(seen.length).toBeGreaterThan(0);
    await seal();
    while (await read(7));
    const rows = await fork().execute<{ id: string }[]>(
      'select e.id::text as id from audit_entry e order by e.tx, e.id',
    );
    expect(rows).toHaveLength(400);
    expect(seen).toEqual(rows.map(({ id }) => id));
  });

  test('an open transaction holds back what was written since it began', async () => {
    await write('before');
    await seal();
    const { next } = await follow(null);
    const written = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const slow = fork().transactional(async (em) => {
      await write('slow', em);
      written.resolve();
      await end.promise;
    });
    await written.promise;
    await write('fast');
    await sealAudit(fork);
    expect(await follow(next)).toEqual({ entries: [], next });
    end.resolve();
    await slow;
    await seal();
    expect(await actionsAfter(next)).toEqual(['slow', 'fast']);
  });

  test('the cursor of each entry leads to the one after it, whatever the pages are', async () => {
    for (const block of [['a', 'b', 'c'], ['d'], ['e', 'f']]) {
      for (const action of block) await write(action);
      await seal();
    }
    const all = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const limit of [1, 2, 3, 100]) {
      const found: { action: string; place: AuditPlace }[] = [];
      for (let place: AuditPlace | null = null; ;) {
        const { entries, next } = await follow(place, limit);
        found.push(...entries);
        if (JSON.stringify(next) === JSON.stringify(place)) break;
        place = next;
      }
      expect(found.map(({ action }) => action)).toEqual(all);
      for (const [index, { place }] of found.entries())
        expect(await actionsAfter(place)).toEqual(all.slice(index + 1));
    }
    const narrow = await follow(null, 100, { action: 'd' });
    expect(narrow.entries.map(({ action }) => action)).toEqual(['d']);
    const none = await follow(null, 100, { action: 'none' });
    expect([none.entries, none.next]).toEqual([[], narrow.next]);
    expect(await follow(none.next)).toEqual({ entries: [], next: none.next });
  });

  test('a log that was restored on another server, whose transactions start lower, is read on', async () => {
    const former = '9000000000';
    const insert = (tx: string, action: string) =>
      fork().execute(
        `insert into audit_entry (tx, action, outcome, credential, via) 
         values (?::xid8, ?, 'done', 'none', 'api')`,
        [tx, action],
      );
    await insert('900', 'sealed there');
    await fork().execute(
      `insert into audit_seal (no, from_tx, to_tx, floor_id, last_id, entries, newest_at, entries_hash,
                               previous_hash, hash)
       values (1, '0', ?::xid8, 0, 1, 1, now(), sha256('x'), sha256('y'), sha256('z'))`,
      [former],
    );
    const { next } = await follow(null);
    await insert(former, 'left over');
    await sealAudit(fork);
    await write('here');
    await until(
      () => sealAudit(fork),
      (head) => head !== null,
    );
    const found: string[] = [];
    for (let place = next; ;) {
      const page = await follow(place, 1);
      found.push(...page.entries.map(({ action }) => action));
      if (JSON.stringify(page.next) === JSON.stringify(place)) break;
      place = page.next;
    }
    expect(found).toEqual(['left over', 'here']);
    // As if the backup were older than the cursor, and another seal had its number.
    await fork().transactional(async (em) => {
      await em.execute('set local session_replication_role = replica');
      await em.execute(`update audit_seal set hash = sha256('other') where no = 1`);
    });
    await expect(follow(next)).rejects.toMatchObject({ kind: 'gone', code: 'no_such_place' });
  });

  test('a page is read by index from its place on, with and without filters', async () => {
    await fork().execute(
      `insert into audit_entry (action, outcome, credential, via, data)
       select case n % 100 when 0 then 'rare' else 'many' end, 'done', 'none', 'system',
              jsonb_build_object('team_id', case n % 100 when 1 then ?::text end)
         from generate_series(1, 20000) n`,
      [TEAM],
    );
    for (let count = 0; count < 5; count += 1) {
      await fork().execute(
        `insert into audit_entry (action, outcome, credential, via)
         select 'late', 'done', 'none', 'system' from generate_series(1, 1000)`,
      );
      await seal();
    }
    await fork().execute('analyze');
    const { next } = await follow(null, 10_000);
    for (const filter of [{}, { action: 'rare' }, { team_id: TEAM }]) {
      const statements = await keepStatements(orm)(() => follow(next, 50, filter));
      const { scanned, read } = await explainAll(orm, statements, ['audit_entry']);
      expect([filter, scanned]).toEqual([filter, []]);
      expect(read).toBeLessThanOrEqual(10_000);
    }
    for (const action of ['rare', 'many', 'never']) {
      const statements = await keepStatements(orm)(() => isLoggedAction(fork(), action));
      const { scanned, read } = await explainAll(orm, statements, ['audit_entry']);
      expect([action, scanned, read <= 1]).toEqual([action, [], true]);
    }
  });

  test('whoever comes back after entries were removed is told, and otherwise misses nothing', async () => {
    await oldSeal(50, 'a', 'b');
    await oldSeal(40, 'c');
    await oldSeal(1, 'd');
    const { entries } = await follow(null);
    const [a, b, c] = entries.map(({ place }) => place);
    await pruneAudit(fork, 30);
    for (const place of [a!, b!])
      await expect(follow(place)).rejects.toMatchObject({ kind: 'gone', code: 'entries_removed' });
    expect(await actionsAfter(c!)).toEqual(['d']);
    expect(await actionsAfter(null)).toEqual(['d']);
  });
});

describe('by the API', () => {
  let app: TestApp;
  let admin: Client;
  let builder: Client;

  beforeAll(async () => {
    app = await startTestApp();
    [admin, builder] = [await app.as('admin'), await app.as('builder')];
    for (const name of ['one', 'two', 'three'])
      expect((await builder.post('/agents', agentBody({ name }))).status).toBe(201);
    await until(
      () => sealAudit(() => app.orm.em.fork()),
      (head) => head !== null,
    );
  });
  afterAll(() => app.close());

  const nextOf = (headers: Headers): string =>
    /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]?.replace(app.url, '') ?? '';

  test('pages lead on, the last one to itself, and each entry has its cursor', async () => {
    const first = await admin.get('/audit?after=0&limit=2');
    expect([first.status, first.body.length]).toEqual([200, 2]);
    const second = await admin.get(nextOf(first.headers));
    expect(second.body.map(({ id }: { id: string }) => id)).not.toContain(first.body[1].id);
    const again = await admin.get(`/audit?limit=2&after=${first.body[1].cursor}`);
    expect(again.body).toEqual(second.body);
    const end = await admin.get(nextOf((await admin.get('/audit?after=0&limit=200')).headers));
    expect([end.status, end.body]).toEqual([200, []]);
    expect(nextOf(end.headers)).toContain('after=');
    const newest = (await admin.get('/audit?limit=1')).body[0];
    expect(newest.cursor).toBeUndefined();
    // Others follow what they did themselves.
    const own = await builder.get('/audit?after=0');
    const { id } = await app.user('builder');
    expect(new Set(own.body.map((entry: { actor: { id: string } }) => entry.actor.id))).toEqual(
      new Set([id]),
    );
  });

  test('the export goes on after a cursor, as JSON lines and as a table', async () => {
    const all = (await admin.get('/audit?after=0&limit=200')).body;
    const lines = (await admin.get('/audit/export?after=0')).body.trim().split('\n');
    const exported = lines.map((line: string) => JSON.parse(line));
    expect(exported).toEqual(all);
    const rest = (await admin.get(`/audit/export?after=${exported[0].cursor}`)).body.trim().split('\n');
    expect(rest.map((line: string) => JSON.parse(line))).toEqual(all.slice(1));
    const table = (await admin.get('/audit/export?after=0&format=csv')).body.split('\r\n');
    expect(table[0]).toMatch(/,data,cursor$/);
    expect(table[1]).toContain(exported[0].cursor);
    const end = await admin.get(`/audit/export?after=${all.at(-1).cursor}`);
    expect([end.status, end.body]).toEqual([200, null]);
  });

  test('a cursor of another list, or two, are refused with what is wrong', async () => {
    const newestFirst = new URL(nextOf((await admin.get('/audit?limit=1')).headers), app.url);
    const wrong = newestFirst.searchParams.get('cursor') ?? '';
    for (const path of ['/audit?', '/audit/export?'])
      for (const after of ['nonsense', wrong]) {
        const { status, body } = await admin.get(`${path}after=${after}`);
        expect([status, body.code, body.errors[0].pointer]).toEqual([400, 'invalid_cursor', 'after']);
      }
    const both = await admin.get(`/audit?after=0&cursor=${wrong}`);
    expect([both.status, both.body.code]).toEqual([400, 'cursor_and_after']);
    const { cursor } = (await admin.get('/audit?after=0&limit=1')).body[0];
    const [no, , ...place] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const foreign = Buffer.from(JSON.stringify([no, '0'.repeat(16), ...place])).toString('base64url');
    for (const path of ['/audit?', '/audit/export?']) {
      const { status, body } = await admin.get(`${path}after=${foreign}`);
      expect([status, body.code]).toEqual([410, 'no_such_place']);
    }
  });
});
