/** `call: human` end to end: real API, real worker, real Temporal (interface-decisions §5, §6; architecture §4). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decide as decideTask } from '../../../domain/hitl/service.ts';
import type { Client, TestUser } from '../../support/app.ts';
import { startRun, startTestPlatform, until } from '../../support/platform.ts';
import type { RunRecord, TestPlatform } from '../../support/platform.ts';

let platform: TestPlatform;
let builder: Client;
let ann: TestUser;
let bob: TestUser;
let asAnn: Client;
let asBob: Client;

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  ann = await platform.createUser({ username: 'ann', roles: ['approver'] });
  bob = await platform.createUser({ username: 'bob', roles: ['approver'], groups: ['bosses'] });
  asAnn = await platform.as(ann);
  asBob = await platform.as(bob);
});
afterAll(() => platform.close());

const forAnn = { title: 'Approve ${ .what }', candidates: { users: ['ann'] } };
const human = (more: Record<string, unknown> = {}) => ({ do: [{ review: { call: 'human', with: { ...forAnn, ...more } } }] });
const start = (definition: unknown, input: Record<string, unknown> = { what: 'tea' }): Promise<RunRecord> => startRun(builder, definition, input);
const read = async (run: RunRecord): Promise<RunRecord> => (await builder.get(`/runs/${run['id']}`)).body;
const ended = (run: RunRecord): Promise<RunRecord> => until(() => read(run), (now) => ['completed', 'faulted', 'cancelled'].includes(now['status']));
const tasksOf = async (run: RunRecord, who: Client = asAnn): Promise<RunRecord[]> => (await who.get(`/hitl/tasks?run_id=${run['id']}`)).body;
const taskOf = async (run: RunRecord, who: Client = asAnn): Promise<RunRecord> => (await until(() => tasksOf(run, who), (found) => found.length > 0))[0] ?? {};
const decide = (who: Client, task: RunRecord, body: unknown) => who.post(`/hitl/tasks/${task['id']}/decision`, body);
const types = (run: RunRecord): string[] => run['logs'].map((entry: { type: string }) => entry.type.split('.').at(-2));
const gapless = (run: RunRecord): void => expect(run['logs'].map((entry: { seq: number }) => entry.seq)).toEqual(run['logs'].map((_: unknown, n: number) => n + 1));

describe('a human task', () => {
  test('waits, shows, is decided, and its decision is the output', async () => {
    const run = await start(human({ description: 'Please', subject: { amount: '${ .amount }' }, priority: 80, due: 'PT1H', expires: { hours: 2 } }), { what: 'tea', amount: 3 });
    const task = await taskOf(run);
    expect(task).toMatchObject({
      run_id: run['id'], workflow_name: 'test', task: '/do/0/review', title: 'Approve tea', description: 'Please', subject: { amount: 3 }, priority: 80, status: 'open',
      decisions: [{ id: 'approve' }, { id: 'reject' }],
    });
    expect(Date.parse(task['expires_at']) - Date.parse(task['due_at'])).toBe(3_600_000);
    const waiting = await until(() => read(run), (now) => now['status'] === 'waiting');
    expect(waiting['waiting_on']).toEqual([{ kind: 'human', task: '/do/0/review', id: task['id'], until: task['expires_at'] }]);
    expect(waiting['tasks']).toMatchObject([{ name: 'review', status: 'waiting', hitl_task_id: task['id'] }]);
    const reply = await decide(asAnn, task, { decision: 'approve', payload: { sugar: true }, comment: 'fine' });
    expect(reply.body.decision.delivered).toBe(true);
    const done = await ended(run);
    expect(done).toMatchObject({
      status: 'completed', waiting_on: [],
      output: { decision: 'approve', payload: { sugar: true }, comment: 'fine', decided_by: ann.id, decided_at: reply.body.decision.decided_at },
    });
    gapless(done);
    const hitl = done['logs'].filter((entry: { type: string }) => entry.type.includes('.hitl.')).map((entry: { type: string }) => entry.type.split('.').at(-2));
    expect(hitl).toEqual(['task-created', 'task-decided', 'decision-received', 'decision-applied']);
    const [row] = await platform.orm.em.fork().execute(`select received_at is not null as received, applied_at is not null as applied, delivered_at is not null as delivered from hitl_decision where task_id = ?`, [task['id']]);
    expect(row).toEqual({ received: true, applied: true, delivered: true });
  });

  test('whatever an expression makes of the title, the run goes on', async () => {
    const run = await start(human({ title: '${ [0, 65] | implode }' }));
    const task = await taskOf(run);
    expect(task['title']).toBe(String.raw`\u0000A`);
    await decide(asAnn, task, { decision: 'approve' });
    expect((await ended(run))['status']).toBe('completed');
  });

  test('an expression that gives no text where text has to be faults, and says which', async () => {
    const cases: [Record<string, unknown>, string][] = [
      [{ title: '${ {a: 1} }' }, 'with.title has to be text, and its expression gives an object'],
      [{ title: '${ .nothing }' }, 'with.title has to be text, and its expression gives null'],
      [{ description: '${ [1] }' }, 'with.description has to be text, and its expression gives an array'],
      [{ assignee: '${ {user: "ann"} }' }, 'with.assignee has to be text, and its expression gives an object'],
      [{ candidates: { users: '${ [true] }' } }, 'with.candidates.users has to be text, and its expression gives a boolean'],
      [{ expires: 'PT1H', escalate: [{ after: 'PT1M', to: { groups: '${ {} }' } }] }, 'with.escalate[0].to.groups has to be text, and its expression gives an object'],
    ];
    const runs = await Promise.all(cases.map(async ([more]) => ended(await start(human(more)))));
    for (const [i, run] of runs.entries()) {
      expect(run['error']).toMatchObject({ type: expect.stringMatching(/\/validation$/), status: 400, detail: cases[i]?.[1], instance: '/do/0/review' });
    }
    const numbered = await start(human({ title: '${ 42 }', assignee: '${ null }' }));
    expect(await taskOf(numbered)).toMatchObject({ title: '42', assignee: null });
    await builder.post(`/runs/${numbered['id']}/cancel`);
  });

  test('a rejection is an outcome, not a fault', async () => {
    const run = await start(human({ require_comment: ['reject'], form: { type: 'object', required: ['n'] } }));
    const task = await taskOf(run);
    expect((await decide(asAnn, task, { decision: 'reject' })).status).toBe(422);
    expect((await decide(asAnn, task, { decision: 'approve' })).status).toBe(422);
    await decide(asAnn, task, { decision: 'reject', comment: 'no' });
    expect(await ended(run)).toMatchObject({ status: 'completed', output: { decision: 'reject', comment: 'no' } });
  });

  test('a decision made while no worker runs is applied when one is back', async () => {
    const run = await start(human());
    const task = await taskOf(run);
    await platform.stopWorker();
    expect((await decide(asAnn, task, { decision: 'approve' })).body.decision.delivered).toBe(true);
    await platform.startWorker();
    expect(await ended(run)).toMatchObject({ status: 'completed', output: { decision: 'approve' } });
  });

  test('a decision before the workflow waits for it, and one that comes while suspended', async () => {
    const run = await start(human());
    const task = await taskOf(run);
    await builder.post(`/runs/${run['id']}/suspend`);
    await until(() => read(run), (now) => now['status'] === 'suspended');
    await decide(asAnn, task, { decision: 'approve' });
    const received = await until(() => read(run), (now) => types(now).includes('decision-received'));
    expect(received['status']).toBe('suspended');
    expect(types(received)).not.toContain('decision-applied');
    await builder.post(`/runs/${run['id']}/resume`);
    expect(await ended(run)).toMatchObject({ status: 'completed', output: { decision: 'approve' } });
  });

  test('a decision that came while suspended waits for the resume, also past the expiry', async () => {
    const run = await start(human({ expires: { seconds: 3 } }));
    const task = await taskOf(run);
    await builder.post(`/runs/${run['id']}/suspend`);
    await until(() => read(run), (now) => now['status'] === 'suspended');
    expect((await decide(asAnn, task, { decision: 'approve' })).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, Date.parse(task['expires_at']) - Date.now() + 1_000));
    const late = await read(run);
    expect(late).toMatchObject({ status: 'suspended', tasks: [{ name: 'review', status: 'waiting' }] });
    expect(types(late)).not.toContain('decision-applied');
    await builder.post(`/runs/${run['id']}/resume`);
    expect(await ended(run)).toMatchObject({ status: 'completed', output: { decision: 'approve' } });
  });

  test('a decision that could not be delivered is brought by the reconciler', async () => {
    const run = await start(human());
    const task = await taskOf(run);
    const em = platform.orm.em.fork();
    const { decision } = await em.transactional((tx) => decideTask(tx, ann, { taskId: task['id'], via: 'api', submission: () => ({ decision: 'approve' }) }));
    expect((await asAnn.get(`/hitl/tasks/${task['id']}`)).body.decision).toEqual({ ...decision, delivered: false });
    await em.execute(`update run_signal set next_at = clock_timestamp() - interval '1 minute' where id = ?`, [decision.id]);
    await platform.reconcile();
    expect(await ended(run)).toMatchObject({ status: 'completed', output: { decision: 'approve', decided_by: ann.id } });
    expect((await asAnn.get(`/hitl/tasks/${task['id']}`)).body.decision.delivered).toBe(true);
  });

  test('a decision that comes several times is applied once', async () => {
    const run = await start({ do: [{ each: { for: { in: '[1, 2]' }, do: [{ review: { call: 'human', with: forAnn } }] } }] });
    const first = await taskOf(run);
    const { decision } = (await decide(asAnn, first, { decision: 'approve' })).body;
    const { id, delivered: _, ...said } = decision;
    const [second] = await until(() => tasksOf(run), (found) => found.length === 1 && found[0]?.['id'] !== first['id']);
    for (let time = 0; time < 3; time++) {
      await platform.app.deps.temporal.signal(run['id'], { id, kind: 'hitl.decision', task_id: first['id'], decision_id: id, ...said });
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await read(run))['status']).toBe('waiting');
    await decide(asAnn, second ?? {}, { decision: 'reject' });
    const done = await ended(run);
    expect(done).toMatchObject({ status: 'completed', output: { decision: 'reject' } });
    expect(types(done).filter((type) => type === 'decision-received')).toHaveLength(2);
    expect(types(done).filter((type) => type === 'decision-applied')).toHaveLength(2);
    gapless(done);
  });

  test('a quorum: all votes are in the output', async () => {
    const run = await start(human({ candidates: { users: ['ann', 'bob'] }, quorum: { approvals: 2, exclude_initiator: true } }));
    const task = await taskOf(run);
    expect((await decide(asAnn, task, { decision: 'approve' })).body.decision.delivered).toBeNull();
    await decide(asBob, task, { decision: 'approve', comment: 'me too' });
    expect(await ended(run)).toMatchObject({
      status: 'completed',
      output: { decision: 'approve', comment: 'me too', decided_by: bob.id, votes: [{ decided_by: ann.id, decision: 'approve' }, { decided_by: bob.id, comment: 'me too' }] },
    });
  });
});

describe('time', () => {
  test('expiry faults with the timeout error', async () => {
    const run = await start(human({ expires: 'PT0.3S' }));
    const done = await ended(run);
    expect(done).toMatchObject({ status: 'faulted', error: { type: expect.stringContaining('/errors/timeout'), status: 408, instance: '/do/0/review' } });
    gapless(done);
    const [task] = (await asAnn.get(`/hitl/tasks?status=expired&run_id=${run['id']}`)).body;
    expect(task).toMatchObject({ status: 'expired' });
    expect((await decide(asAnn, task, { decision: 'approve' })).body).toMatchObject({ status: 409, code: 'task_expired' });
  });

  test('expiry with a decision goes on with it; a request that was too late is logged once', async () => {
    const run = await start(human({ expires: 'PT0.5S', on_expiry: { decision: 'reject' } }));
    const task = await taskOf(run);
    await platform.stopWorker();
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect((await decide(asAnn, task, { decision: 'approve' })).body.code).toBe('task_expired');
    await platform.startWorker();
    const done = await ended(run);
    expect(done).toMatchObject({ status: 'completed', output: { decision: 'reject', decided_by: null } });
    expect(types(done).filter((type) => type === 'task-expired')).toHaveLength(1);
  });

  test('a decision that was accepted in time wins over an expiry that nobody could carry out', async () => {
    const run = await start(human({ expires: 'PT1S' }));
    const task = await taskOf(run);
    await platform.stopWorker();
    expect((await decide(asAnn, task, { decision: 'approve' })).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    await platform.startWorker();
    const done = await ended(run);
    expect(done).toMatchObject({ status: 'completed', output: { decision: 'approve', decided_by: ann.id } });
    expect(types(done)).not.toContain('task-expired');
  });

  test('due, reminders and escalation', async () => {
    const run = await start(human({ due: 'PT0.2S', remind: ['PT0.1S', 'PT0.3S'], escalate: [{ after: 'PT0.4S', to: { groups: ['bosses'] } }] }));
    const task = await taskOf(run);
    expect(await tasksOf(run, asBob)).toEqual([]);
    const escalated = await taskOf(run, asBob);
    expect(escalated).toMatchObject({ id: task['id'], escalation_level: 1, candidates: { users: ['ann'], groups: ['bosses'] } });
    expect((await asBob.get(`/hitl/tasks?overdue=true&run_id=${run['id']}`)).body).toHaveLength(1);
    await decide(asBob, task, { decision: 'approve' });
    const done = await ended(run);
    expect(done['output']).toMatchObject({ decided_by: bob.id });
    const passed = types(done).filter((type) => /overdue|reminder|escalated/.test(type));
    expect(passed).toEqual(['task-reminder', 'task-overdue', 'task-reminder', 'task-escalated']);
  });
});

describe('ends', () => {
  test('cancelling the run cancels its tasks', async () => {
    const run = await start(human());
    const task = await taskOf(run);
    await builder.post(`/runs/${run['id']}/cancel`);
    const done = await ended(run);
    expect(done['status']).toBe('cancelled');
    expect(types(done).filter((type) => type === 'task-cancelled')).toHaveLength(1);
    expect(types(done).at(-1)).toBe('cancelled');
    expect((await asAnn.get(`/hitl/tasks/${task['id']}`)).body.status).toBe('cancelled');
    expect((await decide(asAnn, task, { decision: 'approve' })).body).toMatchObject({ status: 409, code: 'task_cancelled', decision: null });
  });

  test('the losers of a competition lose their tasks', async () => {
    const branch = (title: string) => ({ call: 'human', with: { title, candidates: { users: ['ann'] } } });
    const run = await start({ do: [{ race: { fork: { compete: true, branches: [{ one: branch('one') }, { two: branch('two') }] } } }, { after: branch('after') }] });
    const both = await until(() => tasksOf(run), (found) => found.length === 2);
    const [winner, loser] = both as [RunRecord, RunRecord];
    await decide(asAnn, winner, { decision: 'approve' });
    const next = await until(() => tasksOf(run), (found) => found.some((task) => task['title'] === 'after'));
    expect(next).toHaveLength(1);
    expect((await asAnn.get(`/hitl/tasks/${loser['id']}`)).body.status).toBe('cancelled');
    await decide(asAnn, next[0] ?? {}, { decision: 'approve' });
    const done = await ended(run);
    expect(done['status']).toBe('completed');
    expect(types(done).filter((type) => type === 'task-cancelled')).toHaveLength(1);
    gapless(done);
  });

  test('the owner of the root run is the initiator of a child’s task', async () => {
    const child = await builder.post('/workflows', {
      name: 'child', definition: { document: { dsl: '1.0.0', namespace: 'test', name: 'child', version: '1.0.0' }, ...human({ candidates: { roles: ['approver'] }, quorum: { approvals: 1, exclude_initiator: true } }) },
    });
    expect(child.status).toBe(201);
    const run = await start({ do: [{ sub: { run: { workflow: { namespace: 'test', name: 'child', version: '1.0.0', input: { what: 'it' } } } } }] });
    const inChild = async (): Promise<RunRecord[]> => (await asAnn.get('/hitl/tasks?q=child')).body;
    const [task] = await until(inChild, (found) => found.length > 0);
    const waiting = await until(() => read(run), (now) => now['waiting_on'].length > 0);
    expect(waiting['waiting_on']).toMatchObject([{ kind: 'human', id: task?.['id'] }]);
    expect((await decide(builder, task ?? {}, { decision: 'approve' })).body.code).toBe('initiator_excluded');
    await decide(asAnn, task ?? {}, { decision: 'approve' });
    expect(await ended(run)).toMatchObject({ status: 'completed', output: { decision: 'approve' } });
  });
});
