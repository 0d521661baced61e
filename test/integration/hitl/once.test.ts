/** Decisions that are sent again: each is made once, and with an `Idempotency-Key` answered as before. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RunSignal } from '../../../contracts/temporal.ts';
import { createDecisionLink } from '../../../domain/hitl/decision-links.ts';
import { findTask } from '../../../domain/hitl/human-task.ts';
import { TemporalUnavailable } from '../../../domain/ports.ts';
import { deliverSignals } from '../../../domain/runs/dispatch.ts';
import {
  noTemporal,
  startTestApp,
  type Client,
  type Reply,
  type TestApp,
  type TestUser,
} from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { recordStatements } from '../../support/statements.ts';

let app: TestApp;
let ann: TestUser;
let asAnn: Client;
let asBob: Client;
let asDora: Client;
let runId: string;
let statements: string[];
let isTemporalAway = false;
const signals: RunSignal[] = [];

beforeAll(async () => {
  app = await startTestApp({
    env: { DECISION_LINKS: 'true' },
    temporal: {
      ...noTemporal,
      signal: async (_run, signal) => {
        if (isTemporalAway) throw new TemporalUnavailable();
        signals.push(signal);
        return 'sent';
      },
    },
  });
  const owner = await app.createUser({ username: 'olga', roles: ['builder'] });
  ann = await app.createUser({ username: 'ann', roles: ['approver'] });
  const bob = await app.createUser({ username: 'bob', roles: ['approver'] });
  const dora = await app.createUser({ username: 'dora', roles: ['approver'] });
  [asAnn, asBob, asDora] = await Promise.all([app.as(ann), app.as(bob), app.as(dora)]);
  runId = await insertRun(app.orm, { owner: owner.id });
  statements = await recordStatements(app.orm);
});
afterAll(() => app.close());

const rows = <T>(sql: string, values: unknown[]): Promise<T[]> => app.orm.em.fork().execute<T[]>(sql, values);
const forAnn = { candidates: { users: ['ann'], roles: [], groups: [] } };
const task = (given: Parameters<typeof insertTask>[2] = {}): Promise<string> =>
  insertTask(app.orm, runId, given);
const decide = (client: Client, id: string, key: string, decision = 'approve'): Promise<Reply> =>
  client.post(`/hitl/tasks/${id}/decision`, { decision }, { headers: { 'idempotency-key': key } });
const countOf = (text: string): number => statements.filter((sql) => sql.includes(text)).length;

/** What a task's decision has left: one of each, if it was made once. */
async function tracesOf(id: string): Promise<object | undefined> {
  const [counts] = await rows<object>(
    `select (select count(*)::int from hitl_decision where task_id = t.id) as decisions,
            (select count(*)::int from hitl_audit where task_id = t.id and action = 'decided') as audited,
            (select count(*)::int from audit_entry
              where object_id = t.id::text and outcome = 'done') as entries,
            (select count(*)::int from run_signal s join hitl_decision d on d.id = s.id
              where d.task_id = t.id) as signals
       from hitl_task t where t.id = ?`,
    [id],
  );
  return counts;
}
const ONCE = { decisions: 1, audited: 1, entries: 1, signals: 1 };

test('with a key, by a link, and in a batch with a key, a decision is one statement', async () => {
  const [keyed, linked, batched] = [await task(), await task({ decision_links: true }), await task()];
  const em = app.orm.em.fork();
  const seen = await findTask(em, linked);
  if (seen === null) throw new Error('no task');
  const deps = { keys: app.app.deps.keys, baseUrl: app.env.BASE_URL, allowed: true, hours: 1 };
  const url = await createDecisionLink(em, deps, seen, ann.id);
  statements.length = 0;
  expect((await decide(asAnn, keyed, 'one')).status).toBe(200);
  const form = new URLSearchParams({ decision: 'approve' });
  expect((await fetch(url, { method: 'POST', body: form })).status).toBe(200);
  expect([countOf('decide_at_once'), countOf('begin'), countOf('lock_human_task')]).toEqual([2, 0, 0]);
  const decisions = [{ task_id: batched, decision: 'approve' }];
  const headers = { 'idempotency-key': 'one' };
  expect((await asAnn.post('/hitl/decisions', { decisions }, { headers })).body.results[0].status).toBe(200);
  expect([countOf('decide_at_once'), countOf('lock_human_task')]).toEqual([3, 0]);
  for (const id of [keyed, linked, batched]) expect(await tracesOf(id)).toEqual(ONCE);
});

test('of twenty requests with one key at once, one decides and all learn the same', async () => {
  const id = await task();
  const replies = await Promise.all(Array.from({ length: 20 }, () => decide(asAnn, id, 'same')));
  const answered = replies.filter(({ status }) => status === 200);
  const refused = replies.filter(({ status }) => status === 409);
  expect(answered.length).toBeGreaterThan(0);
  expect(answered.length + refused.length).toBe(20);
  for (const { body } of refused) expect(body.code).toBe('idempotency_in_progress');
  const again = await decide(asAnn, id, 'same');
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(new Set([...answered, again].map(({ body }) => body.decision.id)).size).toBe(1);
  // So are the time of the change, the names, and that the run has received it.
  const first = answered.find(({ headers }) => headers.get('idempotency-replayed') === null);
  expect(first?.body).toMatchObject({
    decision: { delivered: true },
    task: { decision: { delivered: true } },
  });
  expect(again.body).toEqual(first?.body);
  expect(again.body.decision.decided_by_name).toBe('ann');
  expect(await tracesOf(id)).toEqual(ONCE);
  expect(signals.filter((signal) => signal.id === again.body.decision.id)).toHaveLength(1);
});

test('a decision that takes a transaction is told again as it was told first, too', async () => {
  const id = await task();
  const upload = await asAnn.post(`/files?human_task=${id}&name=receipt.txt`, 'receipt', {
    headers: { 'content-type': 'text/plain' },
  });
  expect(upload.status).toBe(201);
  const body = { decision: 'approve', payload: { receipt: { file_id: upload.body.id }, delivered: false } };
  const send = (): Promise<Reply> =>
    asAnn.post(`/hitl/tasks/${id}/decision`, body, { headers: { 'idempotency-key': 'long' } });
  statements.length = 0;
  const first = await send();
  expect([first.status, first.body.decision.delivered, countOf('lock_human_task')]).toEqual([200, true, 1]);
  const again = await send();
  expect([again.headers.get('idempotency-replayed'), again.body]).toEqual(['true', first.body]);
  expect(await tracesOf(id)).toEqual(ONCE);
});

test('what was not delivered when it was told stays so in repetitions', async () => {
  const id = await task();
  isTemporalAway = true;
  const first = await decide(asAnn, id, 'away').finally(() => (isTemporalAway = false));
  expect([first.status, first.body.decision.delivered]).toEqual([200, false]);
  await deliverSignals({ orm: app.orm, temporal: app.app.deps.temporal }, [first.body.decision.id]);
  expect((await asAnn.get(`/hitl/tasks/${id}`)).body.decision.delivered).toBe(true);
  expect((await decide(asAnn, id, 'away')).body).toEqual(first.body);
});

test('another body is refused, and the kept answer outlives the right to the task', async () => {
  const id = await task(forAnn);
  expect((await decide(asAnn, id, 'kept')).status).toBe(200);
  expect(await decide(asAnn, id, 'kept', 'reject')).toMatchObject({
    status: 422,
    body: { code: 'idempotency_key_reused' },
  });
  await rows(`update hitl_task set candidate_keys = '{}' where id = ?`, [id]);
  expect((await asAnn.get(`/hitl/tasks/${id}`)).status).toBe(404);
  expect((await decide(asAnn, id, 'kept')).status).toBe(200);
  expect((await decide(asAnn, id, 'other')).status).toBe(404);
  expect(await tracesOf(id)).toEqual(ONCE);
});

test('a refusal keeps no answer, and an expired answer gives way', async () => {
  const id = await task({ ...forAnn, expires_at: new Date(Date.now() + 3_600_000).toISOString() });
  expect((await decide(asBob, id, 'k')).status).toBe(404);
  expect((await decide(asAnn, id, 'k', 'nothing')).status).toBe(422);
  const path = `/hitl/tasks/${id}/decision`;
  expect(await rows('select key from idempotency_record where path = ?', [path])).toEqual([]);
  await rows(
    `insert into idempotency_record (user_id, method, path, key, fingerprint, status, headers, expires_at)
     values (?, 'POST', ?, 'k', 'old', 200, '{}', now() - interval '1 second')`,
    [ann.id, path],
  );
  expect((await decide(asAnn, id, 'k')).status).toBe(200);
  const kept = `select body is not null as has_body from idempotency_record
    where path = ? and fingerprint <> 'old' and expires_at > now() + interval '23 hours'`;
  expect(await rows(kept, [path])).toEqual([{ has_body: true }]);
  await rows(`update idempotency_record set expires_at = now() where path = ?`, [path]);
  expect((await decide(asAnn, id, 'k')).body).toMatchObject({ status: 409, code: 'already_decided' });
  expect(await tracesOf(id)).toEqual(ONCE);
});

test('while another transaction has the key, nothing is decided', async () => {
  const id = await task();
  const path = `/hitl/tasks/${id}/decision`;
  await app.orm.em.fork().transactional(async (em) => {
    await em.execute(`select claim_key(?, 'POST', ?, 'held')`, [ann.id, path]);
    expect((await decide(asAnn, id, 'held')).body).toMatchObject({ code: 'idempotency_in_progress' });
  });
  expect((await asAnn.get(`/hitl/tasks/${id}`)).body.status).toBe('open');
  expect((await decide(asAnn, id, 'held')).status).toBe(200);
});

test('the same key of two people is two votes, and a repetition votes for nobody again', async () => {
  const id = await task({ quorum: { approvals: 2, rejections: 2, exclude_initiator: false } });
  const first = await decide(asAnn, id, 'vote');
  expect(first.body).toMatchObject({ task: { status: 'open', tally: { approve: 1 } } });
  expect((await decide(asAnn, id, 'vote')).body).toEqual(first.body);
  expect((await decide(asBob, id, 'vote')).body.task).toMatchObject({ status: 'decided' });
  // Ann sees her own vote as it was.
  expect((await decide(asAnn, id, 'vote')).body).toEqual(first.body);
  expect(await rows('select count(*)::int as votes from hitl_vote where task_id = ?', [id])).toEqual([
    { votes: 2 },
  ]);
  expect(await tracesOf(id)).toEqual({ ...ONCE, entries: 2 });
});

test('a deputy decides once for an absent person, and gets the same answer after their return', async () => {
  const id = await task(forAnn);
  const until = new Date(Date.now() + 86_400_000).toISOString();
  const away = await asAnn.post('/absences', { deputy: 'dora', until });
  expect(away.status).toBe(201);
  const first = await decide(asDora, id, 'deputy');
  expect(first.status).toBe(200);
  expect(first.body.task.can).toContain('comment');
  expect((await asAnn.delete(`/absences/${away.body.id}`)).status).toBe(204);
  const again = await decide(asDora, id, 'deputy');
  expect([again.status, again.body.decision.id]).toEqual([200, first.body.decision.id]);
  const audit = (await asAnn.get(`/hitl/tasks/${id}/audit`)).body;
  expect(audit.filter(({ action }: { action: string }) => action === 'decided')).toMatchObject([
    { data: { deputy_for: ann.id } },
  ]);
  expect(await tracesOf(id)).toEqual(ONCE);
});

test('a repeated batch with a key decides nothing again, and sends what is not received', async () => {
  const ids = [await task(), await task()];
  const decisions = ids.map((task_id) => ({ task_id, decision: 'approve' }));
  const options = { headers: { 'idempotency-key': 'many' } };
  const first = await asAnn.post('/hitl/decisions', { decisions }, options);
  // As if the connection had been lost before the whole answer was kept.
  await rows(`delete from idempotency_record where key = 'many' and path = '/hitl/decisions'`, []);
  const again = await asAnn.post('/hitl/decisions', { decisions }, options);
  expect(again.body).toEqual(first.body);
  for (const [index, id] of ids.entries()) {
    expect(await tracesOf(id)).toEqual(ONCE);
    const decision = again.body.results[index].decision.id;
    // The runs here acknowledge nothing.
    expect(signals.filter((signal) => signal.id === decision)).toHaveLength(2);
  }
  const kept = await rows<{ body: string }>(
    `select body from idempotency_record where key = 'many' and path like '%#%'`,
    [],
  );
  const parts = ['task', 'decision', 'signal'];
  for (const { body } of kept) expect(Object.keys(JSON.parse(body))).toEqual(parts);
});
