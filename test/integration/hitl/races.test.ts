/**
 * Concurrent commands on one task: exactly one wins, and all get an answer
 * (docs/architecture.md#human-decisions).
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT } from '../../../contracts/run-events.ts';
import type { RunSignal } from '../../../contracts/temporal.ts';
import {
  cancelHumanTasks,
  createHumanTask,
  escalateHumanTask,
  expireHumanTask,
} from '../../../domain/hitl/lifecycle.ts';
import { appendEvents, lockRun, serviceEvent } from '../../../domain/runs/events.ts';
import {
  noTemporal,
  startTestApp,
  type Client,
  type Reply,
  type TestApp,
  type TestUser,
} from '../../support/app.ts';
import { insertRun, insertTask, newTask } from '../../support/human-tasks.ts';
import { until } from '../../support/platform.ts';

let app: TestApp;
let people: Client[];
let owner: TestUser;
const signals: RunSignal[] = [];

beforeAll(async () => {
  app = await startTestApp({
    temporal: { ...noTemporal, signal: async (_run, signal) => (signals.push(signal), 'sent') },
  });
  owner = await app.createUser({ username: 'olga', roles: ['builder'] });
  people = [];
  for (let n = 1; n <= 20; n++)
    people.push(await app.as(await app.createUser({ username: `p${n}`, roles: ['approver'] })));
});
afterAll(() => app.close());

const rows = <T>(sql: string, values: unknown[]): Promise<T[]> => app.orm.em.fork().execute<T[]>(sql, values);
const all = (id: string, decision: (n: number) => string): Promise<Reply[]> =>
  Promise.all(
    people.map((person, n) =>
      person.post(`/hitl/tasks/${id}/decision`, { decision: decision(n), comment: `by p${n + 1}` }),
    ),
  );
const inRun = <T>(runId: string, work: (em: Parameters<typeof lockRun>[0]) => Promise<T>): Promise<T> =>
  app.orm.em.fork().transactional(async (em) => {
    await lockRun(em, runId);
    return work(em);
  });

test('of twenty concurrent decisions one succeeds, and the others get 409 with the winner', async () => {
  const runId = await insertRun(app.orm, { owner: owner.id });
  const id = await insertTask(app.orm, runId);
  const replies = await all(id, (n) => (n % 2 === 0 ? 'approve' : 'reject'));
  const won = replies.filter((reply) => reply.status === 200);
  const lost = replies.filter((reply) => reply.status === 409);
  expect([won.length, lost.length]).toEqual([1, 19]);
  const winner = won[0]?.body.decision;
  expect(winner.delivered).toBe(true);
  for (const { body } of lost)
    expect(body).toMatchObject({
      code: 'already_decided',
      decision: { ...winner, delivered: expect.any(Boolean) },
    });
  expect(
    await rows(`select id, delivered_at is not null as delivered from hitl_decision where task_id = ?`, [id]),
  ).toEqual([{ id: winner.id, delivered: true }]);
  expect(signals.filter((signal) => signal.kind === 'hitl.decision' && signal.task_id === id)).toMatchObject([
    { id: winner.id, decision_id: winner.id },
  ]);
  expect((await people[0]?.get(`/hitl/tasks/${id}`))?.body.decision).toEqual(winner);
});

test('of many decisions at once, also several of a run, each is noted as delivered', async () => {
  const runIds = await Promise.all(people.map(() => insertRun(app.orm, { owner: owner.id })));
  const [shared = ''] = runIds;
  const ids = await Promise.all([...runIds, shared, shared].map((runId) => insertTask(app.orm, runId)));
  const replies = await Promise.all(
    ids.map(async (id, n) =>
      people[n % people.length]?.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' }),
    ),
  );
  expect(replies.map((reply) => [reply?.status, reply?.body.decision.delivered])).toEqual(
    ids.map(() => [200, true]),
  );
  const [noted] = await rows<{ decisions: number; signals: number }>(
    `select count(d.delivered_at)::int as decisions, count(s.delivered_at)::int as signals
       from hitl_decision d join run_signal s on s.id = d.id where d.task_id = any(?::uuid[])`,
    [`{${ids.join(',')}}`],
  );
  expect(noted).toEqual({ decisions: ids.length, signals: ids.length });
});

test('a decision that waits long for its locks has the time after them', async () => {
  const runId = await insertRun(app.orm, { owner: owner.id });
  const id = await insertTask(app.orm, runId);
  const { deciding, released } = await inRun(runId, async (em) => {
    const started = people[0]?.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' });
    const waiting = `select from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database()`;
    await until(
      () => rows(waiting, []),
      (found) => found.length > 0,
    );
    await em.execute('select pg_sleep(1.1)');
    const [at] = await em.execute<{ ms: number }[]>(
      `select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
    );
    return { deciding: started, released: at?.ms ?? Number.NaN };
  });
  const { status, body } = (await deciding) ?? {};
  expect(status).toBe(200);
  expect(Date.parse(body.decision.decided_at)).toBeGreaterThanOrEqual(Math.floor(released));
});

test('of twenty concurrent votes exactly one completes the quorum', async () => {
  const runId = await insertRun(app.orm, { owner: owner.id });
  const id = await insertTask(app.orm, runId, {
    quorum: { approvals: 8, rejections: 6, exclude_initiator: false },
  });
  const replies = await all(id, (n) => (n % 2 === 0 ? 'approve' : 'reject'));
  const deciding = replies.filter((reply) => reply.status === 200 && reply.body.decision.delivered !== null);
  const votes = replies.filter((reply) => reply.status === 200 && reply.body.decision.delivered === null);
  expect(deciding).toHaveLength(1);
  expect(replies.filter((reply) => reply.status === 409)).toHaveLength(20 - 1 - votes.length);
  const { tally, decision } = (await people[0]?.get(`/hitl/tasks/${id}`))?.body ?? {};
  expect(tally[decision.decision]).toBe(decision.decision === 'approve' ? 8 : 6);
  expect(tally.approve + tally.reject).toBe(votes.length + 1);
  expect(tally.approve <= 8 && tally.reject <= 6).toBe(true);
});

test('an expiry and a decision race for one lock, and both sides report the same result', async () => {
  const outcomes = new Set<string>();
  // Approaches the time at which either may win, which depends on the machine.
  let waitMs = 0;
  for (let round = 0; round < 6 || (outcomes.size < 2 && round < 80); round++) {
    const runId = await insertRun(app.orm, { owner: owner.id });
    const id = await insertTask(app.orm, runId);
    const some = people
      .slice(0, 4)
      .map((person) => person.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' }));
    if (waitMs >= 1) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const [expired, ...replies] = await Promise.all([
      inRun(runId, (em) => expireHumanTask(em, { task_id: id })),
      ...some,
    ]);
    const won = replies.filter((reply) => reply.status === 200);
    outcomes.add(expired.outcome);
    waitMs = expired.outcome === 'decided' ? waitMs / 2 : waitMs * 1.5 + 5;
    if (expired.outcome === 'decided') {
      expect(won).toHaveLength(1);
      expect(expired.decision).toMatchObject({
        task_id: id,
        decision_id: won[0]?.body.decision.id,
        decision: 'approve',
        payload: null,
      });
    } else {
      expect(won).toHaveLength(0);
      for (const reply of replies)
        expect(reply.body).toMatchObject({ status: 409, code: 'task_expired', decision: null });
    }
    // A repeated activity gives the same answer.
    expect(await inRun(runId, (em) => expireHumanTask(em, { task_id: id }))).toEqual(
      expired.outcome === 'decided' ? expired : { outcome: 'expired', fresh: false },
    );
  }
  expect([...outcomes].toSorted()).toEqual(['decided', 'expired']);
});

test('of twenty concurrent claims one succeeds', async () => {
  const runId = await insertRun(app.orm, { owner: owner.id });
  const id = await insertTask(app.orm, runId);
  const replies = await Promise.all(people.map((person) => person.post(`/hitl/tasks/${id}/claim`)));
  expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
  expect(replies.filter((reply) => reply.body.code === 'claimed_by_another')).toHaveLength(19);
});

test('the end of the run cancels its open tasks for good', async () => {
  const runId = await insertRun(app.orm, { owner: owner.id });
  const open = await insertTask(app.orm, runId);
  const decided = await insertTask(app.orm, runId);
  await people[0]?.post(`/hitl/tasks/${decided}/decision`, { decision: 'approve' });
  const last = serviceEvent({ key: 'run:ended', type: EVENT.runCancelled, message: 'over' });
  await inRun(runId, (em) =>
    appendEvents(em, runId, { events: [last], projection: null, acks: [] }, { end: { status: 'cancelled' } }),
  );
  const log = await rows<{ type: string }>(`select type from run_event where run_id = ? order by seq`, [
    runId,
  ]);
  expect(log.map((event) => event.type)).toEqual([
    EVENT.hitlDecided,
    EVENT.hitlCancelled,
    EVENT.runCancelled,
  ]);
  expect(
    (await people[1]?.post(`/hitl/tasks/${open}/decision`, { decision: 'approve' }))?.body,
  ).toMatchObject({ code: 'task_cancelled', decision: null });
  expect(await rows(`select status from hitl_task where run_id = ? order by id`, [runId])).toEqual([
    { status: 'cancelled' },
    { status: 'decided' },
  ]);
  expect(
    await rows(`select action, via from hitl_audit where task_id = ? order by id`, [open]),
  ).toMatchObject([{ action: 'created' }, { action: 'cancelled', via: 'workflow' }]);
});

test('repeated activities give the same rows, with one audit row each', async () => {
  const runId = await insertRun(app.orm, { owner: owner.id });
  const task = newTask(runId, {
    title: 'NUL \0 and half \ud83d',
    candidates: { users: ['p1', 'nobody\0'], roles: [], groups: [] },
  });
  const other = await insertTask(app.orm, runId);
  for (let time = 0; time < 2; time++) {
    await inRun(runId, (em) => createHumanTask(em, task));
    await inRun(runId, (em) =>
      escalateHumanTask(em, {
        task_id: task.id,
        level: 2,
        to: { users: ['p2'], roles: [], groups: ['bosses'] },
      }),
    );
    await inRun(runId, (em) =>
      escalateHumanTask(em, {
        task_id: task.id,
        level: 1,
        to: { users: ['p1'], roles: ['admin'], groups: [] },
      }),
    );
  }
  const { body } = (await people[1]?.get(`/hitl/tasks/${task.id}`)) ?? {};
  expect(body).toMatchObject({
    title: String.raw`NUL \u0000 and half ` + '\ufffd',
    candidates: { users: ['p1', String.raw`nobody\u0000`, 'p2'], roles: ['admin'], groups: ['bosses'] },
    escalation_level: 2,
  });
  expect(await inRun(runId, (em) => cancelHumanTasks(em, runId, [task.id]))).toEqual([
    { id: task.id, task: '/do/1/review', task_name: 'review' },
  ]);
  expect(await inRun(runId, (em) => cancelHumanTasks(em, runId, [task.id]))).toEqual([]);
  await inRun(runId, (em) =>
    escalateHumanTask(em, { task_id: task.id, level: 3, to: { users: [], roles: [], groups: ['late'] } }),
  );
  const audit = await rows<{ action: string }>(
    `select action from hitl_audit where task_id = ? order by id`,
    [task.id],
  );
  expect(audit.map((row) => row.action)).toEqual(['created', 'escalated', 'escalated', 'cancelled']);
  expect(await rows(`select status from hitl_task where id = ?`, [other])).toEqual([{ status: 'open' }]);
});

test('audit rows are append-only and outlive the run', async () => {
  const runId = await insertRun(app.orm, { owner: owner.id });
  const id = await insertTask(app.orm, runId);
  for (const sql of [
    `update hitl_audit set actor_name = 'me'`,
    `delete from hitl_audit`,
    `truncate hitl_audit`,
  ]) {
    await expect(rows(sql, [])).rejects.toThrow(/append-only/);
  }
  await rows(`delete from run where id = ?`, [runId]);
  expect(await rows(`select id from hitl_task where id = ?`, [id])).toEqual([]);
  expect(await rows(`select action from hitl_audit where task_id = ?`, [id])).toEqual([
    { action: 'created' },
  ]);
});
