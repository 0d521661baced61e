/** The audit log: what it says, who may read it, and that nobody changes it unseen. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { endpoint } from '../../../api/endpoint.ts';
import { pruneAudit } from '../../../domain/audit/prune.ts';
import {
  FIRST_HASH,
  hashOfLines,
  hashOfSeal,
  LINE,
  sealAudit,
  unsealedSeconds,
} from '../../../domain/audit/seal.ts';
import { verifyAudit } from '../../../domain/audit/verify.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../../../domain/audit/write.ts';
import { conflict } from '../../../domain/errors.ts';
import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { explainAll, keepStatements } from '../../support/plans.ts';

let app: TestApp;
let admin: Client;
let builder: Client;

beforeAll(async () => {
  app = await startTestApp({
    endpoints: () => [
      endpoint({
        method: 'POST',
        path: '/agents/undone',
        operationId: 'undone',
        summary: 'Fails after its work',
        tags: [],
        role: 'viewer',
        scope: 'person',
        responses: { 204: null },
        handler: async (c) => {
          await c.audit.write(c.em);
          throw conflict('undone', 'It is undone.');
        },
      }),
    ],
  });
  admin = await app.as('admin');
  builder = await app.as('builder');
});
afterAll(() => app.close());

const fork = () => app.orm.em.fork();
const check = (expected: { no: string; hash: string }[] = []) => verifyAudit(fork(), { after: 0n, expected });

test('a change is there with who, what and from where, with values of harmless fields only', async () => {
  const headers = { 'user-agent': 'audit-test/1', 'x-request-id': 'request-7' };
  const made = await builder.post('/agents', agentBody({ name: 'First name' }), { headers });
  expect(made.status).toBe(201);
  const patched = await builder.patch(`/agents/${made.body.id}`, {
    name: 'Second name',
    description: 'hush',
  });
  expect(patched.status).toBe(200);
  await builder.put('/secrets/KEY', { value: 'the-very-secret' });

  const { body } = await admin.get(`/audit?object_id=${made.body.id}`);
  const person = await app.user('builder');
  expect(body.map((entry: { action: string }) => entry.action)).toEqual(['updateAgent', 'createAgent']);
  expect(body[1]).toMatchObject({
    actor: { id: person.id, username: person.username },
    outcome: 'done',
    object: { type: 'agent', id: made.body.id },
    credential: { type: 'session' },
    via: 'api',
    address: expect.stringContaining('127.0.0.1'),
    user_agent: 'audit-test/1',
    request_id: 'request-7',
  });
  expect(body[0].fields).toEqual(['name', 'description']);
  expect(body[0].changes).toMatchObject({
    name: { old: 'First name', new: 'Second name' },
    description: {},
  });
  const all = JSON.stringify((await admin.get('/audit?limit=200')).body);
  expect(all).toContain('putSecret');
  expect(all).not.toContain('the-very-secret');
  expect(all).not.toContain('hush');
});

test('a change that is rolled back leaves no entry, a refused one does', async () => {
  expect((await builder.post('/agents/undone')).status).toBe(409);
  const written = 'select count(*)::int as count from audit_entry where action = ?';
  expect(await fork().execute(written, ['undone'])).toEqual([{ count: 0 }]);
  expect((await builder.post('/users', {})).status).toBe(403);
  const { body } = await admin.get('/audit?action=createUser&outcome=refused');
  expect(body[0].details).toEqual({ code: 'role_required' });
});

test('an action that there is not is refused with a near one, in each form of the log', async () => {
  const refusal = (message: string) => ({
    code: 'invalid_query',
    detail: `action ${message}`,
    errors: [{ pointer: 'action', code: 'unknown_action', message }],
  });
  const near = 'is no action of the audit log, did you mean "updateWorkflow"?';
  for (const path of ['/audit?', '/audit?after=0&', '/audit/export?', '/audit/export?after=0&'])
    for (const word of ['updateWorkfow', 'Update workflow'])
      for (const client of [admin, builder])
        expect(await client.get(`${path}action=${encodeURIComponent(word)}`)).toMatchObject({
          status: 400,
          body: refusal(near),
        });
  const far = 'is no action of the audit log: it is an operationId of the API, or a name such as log_in';
  expect((await admin.get('/audit?action=whatever')).body).toMatchObject(refusal(far));
  // Nobody has done these yet.
  for (const action of ['a2a_delete_push', 'restore_backup', 'deleteAgentSkill'])
    expect(await admin.get(`/audit?action=${action}`)).toMatchObject({ status: 200, body: [] });
  // Entries of a former release have names that no operation has any more.
  await writeAudit(fork(), SYSTEM_ORIGIN, { action: 'renamedSince' });
  expect((await admin.get('/audit?action=renamedSince')).body).toHaveLength(1);
});

test('log-ins are there, failed ones with the account but without what was typed', async () => {
  const person = await app.createUser({ roles: ['viewer'] });
  await admin.patch(`/users/${person.id}`, { password: 'correct horse battery' });
  const logIn = (username: string, password: string) =>
    app.anonymous.post('/auth/token', { username, password });
  expect((await logIn(person.username, 'correct horse battery')).status).toBe(200);
  expect((await logIn(person.username, 'wrong')).status).toBe(401);
  expect((await logIn('my-password-by-mistake', 'x')).status).toBe(401);

  const own = (await admin.get(`/audit?action=log_in&actor_id=${person.id}`)).body;
  expect(own.map((entry: { outcome: string }) => entry.outcome)).toEqual(['refused', 'done']);
  expect(own[1].details).toMatchObject({ by: 'password' });
  const all = JSON.stringify((await admin.get('/audit?action=log_in&limit=200')).body);
  expect(all).not.toContain('my-password-by-mistake');
});

test('everybody sees what they did themselves, admins see all', async () => {
  const { body } = await builder.get('/audit?limit=200');
  const { id } = await app.user('builder');
  expect(body.length).toBeGreaterThan(2);
  expect(new Set(body.map((entry: { actor: { id: string } }) => entry.actor.id))).toEqual(new Set([id]));
  const others = await builder.get(`/audit?actor_id=${(await app.user('admin')).id}`);
  expect(others.body).toEqual([]);
});

test('pages follow each other without gaps, and the export has them all', async () => {
  const first = await builder.get('/audit?limit=2');
  const next = /<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
  const second = await builder.get(next.replace(app.url, ''));
  const ids = [...first.body, ...second.body].map(({ id }: { id: string }) => id);
  expect(new Set(ids).size).toBe(ids.length);

  const lines = (await builder.get('/audit/export')).body.trim().split('\n');
  const entries = lines.map((line: string) => JSON.parse(line));
  // The export is the newest entry of itself.
  expect(entries[0].action).toBe('exportAudit');
  expect(entries.slice(1, 3).map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2));
  const csv = (await builder.get('/audit/export?format=csv')).body;
  expect(csv.split('\r\n')[0]).toBe(
    'id,at,actor_id,actor_name,action,outcome,object_type,object_id,credential,credential_id,via,address,' +
      'user_agent,request_id,team_id,to_team_id,data',
  );
});

test('rows cannot be changed, deleted or truncated', async () => {
  await sealAudit(fork);
  for (const table of ['audit_entry', 'audit_seal'])
    for (const statement of [
      `update ${table} set ${table === 'audit_entry' ? `action = 'x'` : 'entries = 0'}`,
      `delete from ${table}`,
      `truncate ${table}`,
    ])
      await expect(fork().execute(statement)).rejects.toThrow('append-only');
});

test('many writers and sealers at once leave one whole chain', async () => {
  const note = { action: 'test', objectType: 'test' };
  const write = (objectId: string) =>
    fork().transactional(async (em) => {
      await writeAudit(em, SYSTEM_ORIGIN, { ...note, objectId });
      await em.execute('select pg_sleep(random() * 0.02)');
      await writeAudit(em, SYSTEM_ORIGIN, { ...note, objectId });
    });
  await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      await write(String(index));
      if (index % 4 === 0) await sealAudit(fork);
    }),
  );
  await sealAudit(fork);
  const verification = await check();
  expect(verification).toMatchObject({ ok: true, problems: [], unsealed: 0 });
  const [{ count } = { count: 0 }] = await fork().execute<{ count: number }[]>(
    'select count(*)::int as count from audit_entry',
  );
  expect(verification.entries).toBe(count);
});

test('an open transaction holds its entries back from the seal, and nobody waits for it', async () => {
  let isWritten = (): void => {};
  const written = new Promise<void>((resolve) => (isWritten = resolve));
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const slow = fork().transactional(async (em) => {
    await writeAudit(em, SYSTEM_ORIGIN, { action: 'slow' });
    isWritten();
    await ended;
  });
  await written;
  await writeAudit(fork(), SYSTEM_ORIGIN, { action: 'fast' });
  await sealAudit(fork);
  expect(await check()).toMatchObject({ ok: true, unsealed: 1 });
  // Which no seal covers although it is committed.
  expect(await unsealedSeconds(fork())).toBeGreaterThan(0);
  end();
  await slow;
  await sealAudit(fork);
  expect(await check()).toMatchObject({ ok: true, unsealed: 0 });
});

/** What somebody with the owner's rights can do: change a row although the trigger refuses it. */
async function tampered(statement: string): Promise<string[]> {
  const found: string[] = [];
  const rollback = new Error('rolled back');
  await fork()
    .transactional(async (em) => {
      await em.execute('set local session_replication_role = replica');
      await em.execute(statement);
      const { problems } = await verifyAudit(em, { after: 0n, expected: [] });
      found.push(...problems.map(({ code }) => code));
      throw rollback;
    })
    .catch((error: unknown) => {
      if (error !== rollback) throw error;
    });
  return [...new Set(found)];
}

test('a changed, removed or added entry and a changed or removed seal are found', async () => {
  const newest = '(select max(no) from audit_seal)';
  const entry = '(select min(id) from audit_entry)';
  expect(await tampered(`update audit_entry set actor_name = 'mallory' where id = ${entry}`)).toEqual([
    'changed_entries',
  ]);
  expect(await tampered(`delete from audit_entry where id = ${entry}`)).toEqual(['missing_entries']);
  expect(
    await tampered(
      `insert into audit_entry (tx, action, outcome, credential, via)
       select tx, 'forged', 'done', 'none', 'api' from audit_entry where id = ${entry}`,
    ),
  ).toEqual(['changed_entries']);
  expect(await tampered(`update audit_seal set entries_hash = sha256('x') where no = ${newest}`)).toEqual([
    'changed_seal',
    'changed_entries',
  ]);
  expect(await tampered('delete from audit_seal where no = 1')).toContain('missing_seal');
});

test('a noted head shows that the end of the chain was cut off or replaced', async () => {
  const { head } = await check();
  expect(await check([head!])).toMatchObject({ ok: true });
  const later = { no: String(BigInt(head!.no) + 1n), hash: head!.hash };
  const never = await admin.get(`/audit/verification?head=0:${head!.hash}`);
  expect(never.body.problems).toMatchObject([{ seal: '0', code: 'missing_seal' }]);
  const padded = await admin.get(`/audit/verification?head=00${head!.no}:${'0'.repeat(64)}`);
  expect(padded.body.problems).toMatchObject([{ code: 'other_head' }]);
  expect((await check([later])).problems).toMatchObject([{ code: 'missing_seal' }]);
  expect((await check([{ no: head!.no, hash: '0'.repeat(64) }])).problems).toMatchObject([
    { code: 'other_head' },
  ]);
  const answer = await admin.get(`/audit/verification?head=${head!.no}:${head!.hash}`);
  expect(answer.body).toMatchObject({ ok: true, next: null, head });
  expect((await admin.get('/audit/verification?head=nonsense')).status).toBe(400);
});

describe('a database of its own', () => {
  let other: TestApp;
  const own = () => other.orm.em.fork();
  const checkOwn = () => verifyAudit(own(), { after: 0n, expected: [] });
  const write = (action: string) => writeAudit(own(), SYSTEM_ORIGIN, { action });
  beforeEach(async () => (other = await startTestApp()));
  afterEach(() => other.close());

  test('that was restored on a server with lower numbers keeps its seals, and what came later', async () => {
    // Entries of the former server, whose numbers of transactions this server has still to give.
    const former = '9000000000';
    await own().execute(
      `insert into audit_entry (tx, at, action, outcome, credential, via)
       values (?::xid8, now() - interval '41 days', 'sealed', 'done', 'none', 'system'),
              (?::xid8, now() - interval '2 hours', 'left', 'done', 'none', 'system')`,
      ['900', former],
    );
    await sealByHand(former);
    expect(await unsealedSeconds(own())).toBeGreaterThan(7_000);
    await sealAudit(own);
    expect(await unsealedSeconds(own())).toBe(0);
    await write('later');
    expect(await unsealedSeconds(own())).toBeGreaterThan(0);
    await sealAudit(own);
    expect(await unsealedSeconds(own())).toBe(0);
    expect(await checkOwn()).toMatchObject({ ok: true, problems: [], seals: 3, entries: 3, unsealed: 0 });
    await write('later still');
    expect(await checkOwn()).toMatchObject({ ok: true, unsealed: 1 });
    // The first seal is old enough, what was written now is not.
    expect(await pruneAudit(own, 30)).toMatchObject({ entries: 1 });
    const rows = await own().execute<{ action: string }[]>('select action from audit_entry order by id');
    expect(rows.map(({ action }) => action)).toEqual(['left', 'later', 'later still', 'audit_prune']);
  });

  test('is not taken for a restored one because an old transaction is open', async () => {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    let isOpen = (): void => {};
    const opened = new Promise<void>((resolve) => (isOpen = resolve));
    const slow = own().transactional(async (em) => {
      await writeAudit(em, SYSTEM_ORIGIN, { action: 'slow' });
      isOpen();
      await ended;
    });
    await opened;
    await write('fast');
    const [{ next } = { next: '0' }] = await own().execute<{ next: string }[]>(
      'select pg_snapshot_xmax(pg_current_snapshot())::text as next',
    );
    // As if the open transaction had been taken for one of another database.
    await sealByHand(next);
    await write('fast');
    expect(await sealAudit(own)).toBeNull();
    end();
    await slow;
    await sealAudit(own);
    const [{ last } = { last: '0' }] = await own().execute<{ last: string }[]>(
      'select max(to_tx::text::bigint)::text as last from audit_seal',
    );
    // All files of the test run take their transactions from one server.
    expect(Number(last)).toBeLessThan(Number(next) + 1_000_000);
  });

  test('says how long its oldest entry has been waiting for a seal, by one look at the index', async () => {
    const insert = (count: number, age: string) =>
      own().execute(
        `insert into audit_entry (at, action, outcome, credential, via)
         select now() - ?::interval, 'many', 'done', 'none', 'system' from generate_series(1, ?::int)`,
        [age, count],
      );
    await sealAudit(own);
    expect(await unsealedSeconds(own())).toBe(0);
    await insert(20_000, '3 days');
    await sealAudit(own);
    expect(await unsealedSeconds(own())).toBe(0);
    await insert(1, '90 minutes');
    await insert(5_000, '30 minutes');
    await own().execute('analyze audit_entry');
    const statements = await keepStatements(other.orm)(() => unsealedSeconds(own()));
    expect(await explainAll(other.orm, statements, ['audit_entry'])).toEqual({ scanned: [], read: 1 });
    const { body } = await (await other.as('admin')).get('/metrics');
    const [, seconds] = /^cadenza_audit_unsealed_seconds (\S+)$/m.exec(body) ?? [];
    expect(Number(seconds)).toBeGreaterThanOrEqual(5_400);
    expect(Number(seconds)).toBeLessThan(7_200);
  });

  test('seals a transaction with many entries as a whole', async () => {
    await write('before');
    await own().execute(
      `insert into audit_entry (action, outcome, credential, via)
       select 'many', 'done', 'none', 'system' from generate_series(1, 2500)`,
    );
    await write('after');
    await sealAudit(own);
    expect(await checkOwn()).toMatchObject({ ok: true, entries: 2_502, unsealed: 0 });
  });

  /** The first seal, of 40 days ago: of all entries before a transaction. */
  async function sealByHand(to: string): Promise<void> {
    const [row] = await own().execute<{ lines: string[]; last: string; at: string }[]>(
      `select coalesce(array_agg(${LINE} order by e.tx, e.id), '{}') as lines,
              coalesce(max(e.id), 0)::text as last,
              to_char((now() - interval '40 days') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
         from audit_entry e where e.tx < ?::xid8`,
      [to],
    );
    const { lines, last, at } = row!;
    const seal = {
      no: '1',
      from_tx: '0',
      to_tx: to,
      floor_id: '0',
      last_id: last,
      entries: lines.length,
      newest_at: at,
      entries_hash: hashOfLines(lines),
      previous_hash: FIRST_HASH,
    };
    await own().execute(
      `insert into audit_seal (no, from_tx, to_tx, floor_id, last_id, entries, newest_at, entries_hash,
                               previous_hash, hash)
       values (1, '0', ?::xid8, 0, ?, ?, ?::timestamptz, ?, ?, ?)`,
      [to, last, lines.length, at, seal.entries_hash, FIRST_HASH, hashOfSeal(seal)],
    );
  }
});
