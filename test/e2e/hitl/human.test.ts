/**
 * `call: human` end to end: real API, real worker, real Temporal (docs/human-tasks.md,
 * docs/architecture.md#human-decisions).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decide as decideTask, loadForChange } from '../../../domain/hitl/service.ts';
import type { Client, TestUser } from '../../support/app.ts';
import { headerOf, startMailServer, type MailServer } from '../../support/mail-server.ts';
import {
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../../support/platform.ts';

let platform: TestPlatform;
let smtp: MailServer;
let builder: Client;
let ann: TestUser;
let bob: TestUser;
let asAnn: Client;
let asBob: Client;

beforeAll(async () => {
  smtp = await startMailServer();
  platform = await startTestPlatform({
    env: {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(smtp.port),
      SMTP_TLS: 'none',
      SMTP_FROM: 'cadenza@example.com',
    },
  });
  builder = await platform.as('builder');
  ann = await platform.createUser({ username: 'ann', roles: ['approver'] });
  bob = await platform.createUser({ username: 'bob', roles: ['approver'], groups: ['bosses'] });
  asAnn = await platform.as(ann);
  asBob = await platform.as(bob);
});
afterAll(async () => {
  await platform.close();
  await smtp.close();
});

const forAnn = { title: 'Approve ${ .what }', candidates: { users: ['ann'] } };
const human = (more: Record<string, unknown> = {}) => ({
  do: [{ review: { call: 'human', with: { ...forAnn, ...more } } }],
});
const start = (definition: unknown, input: Record<string, unknown> = { what: 'tea' }): Promise<RunRecord> =>
  startRun(builder, definition, input);
const read = async (run: RunRecord): Promise<RunRecord> => (await builder.get(`/runs/${run['id']}`)).body;
const ended = (run: RunRecord): Promise<RunRecord> =>
  until(
    () => read(run),
    (now) => ['completed', 'faulted', 'cancelled'].includes(now['status']),
  );
const tasksOf = async (run: RunRecord, who: Client = asAnn): Promise<RunRecord[]> =>
  (await who.get(`/hitl/tasks?run_id=${run['id']}`)).body;
const taskOf = async (run: RunRecord, who: Client = asAnn): Promise<RunRecord> =>
  (
    await until(
      () => tasksOf(run, who),
      (found) => found.length > 0,
    )
  )[0] ?? {};
const decide = (who: Client, task: RunRecord, body: unknown) =>
  who.post(`/hitl/tasks/${task['id']}/decision`, body);
/** Until after the expiry of a task, which has to leave enough time for what comes before. */
const pastExpiry = (task: RunRecord): Promise<void> =>
  sleep(Date.parse(task['expires_at']) - Date.now() + 500);
const types = (run: RunRecord): string[] =>
  run['logs'].map((entry: { type: string }) => entry.type.split('.').at(-2));
const gapless = (run: RunRecord): void =>
  expect(run['logs'].map((entry: { seq: number }) => entry.seq)).toEqual(
    run['logs'].map((_: unknown, n: number) => n + 1),
  );

// Tests of which none stops the worker run at once: some wait for timers.
describe('a human task', () => {
  test.concurrent('waits, is listed and decided, and its decision is the output', async () => {
    const run = await start(
      human({
        description: 'Please',
        subject: { amount: '${ .amount }' },
        priority: 80,
        due: 'PT1H',
        expires: { hours: 2 },
      }),
      { what: 'tea', amount: 3 },
    );
    const task = await taskOf(run);
    expect(task).toMatchObject({
      run_id: run['id'],
      workflow_name: 'test',
      task: '/do/0/review',
      title: 'Approve tea',
      description: 'Please',
      subject: { amount: 3 },
      priority: 80,
      status: 'open',
      decisions: [{ id: 'approve' }, { id: 'reject' }],
    });
    expect(Date.parse(task['expires_at']) - Date.parse(task['due_at'])).toBe(3_600_000);
    const waiting = await until(
      () => read(run),
      (now) => now['status'] === 'waiting',
    );
    expect(waiting['waiting_on']).toEqual([
      { kind: 'human', task: '/do/0/review', id: task['id'], until: task['expires_at'] },
    ]);
    expect(waiting['tasks']).toMatchObject([{ name: 'review', status: 'waiting', hitl_task_id: task['id'] }]);
    const reply = await decide(asAnn, task, {
      decision: 'approve',
      payload: { sugar: true },
      comment: 'fine',
    });
    expect(reply.body.decision.delivered).toBe(true);
    const done = await ended(run);
    expect(done).toMatchObject({
      status: 'completed',
      waiting_on: [],
      output: {
        decision: 'approve',
        payload: { sugar: true },
        comment: 'fine',
        decided_by: ann.id,
        decided_at: reply.body.decision.decided_at,
      },
    });
    gapless(done);
    const hitl = done['logs']
      .filter((entry: { type: string }) => entry.type.includes('.hitl.'))
      .map((entry: { type: string }) => entry.type.split('.').at(-2));
    expect(hitl).toEqual(['task-created', 'task-decided', 'decision-received', 'decision-applied']);
    const [row] = await platform.orm.em.fork().execute(
      `select received_at is not null as received, applied_at is not null as applied,
          delivered_at is not null as delivered from hitl_decision where task_id = ?`,
      [task['id']],
    );
    expect(row).toEqual({ received: true, applied: true, delivered: true });
  });

  test.concurrent('opens whatever an expression gives as its title', async () => {
    const run = await start(human({ title: '${ [0, 65] | implode }' }));
    const task = await taskOf(run);
    expect(task['title']).toBe(String.raw`\u0000A`);
    await decide(asAnn, task, { decision: 'approve' });
    expect((await ended(run))['status']).toBe('completed');
  });

  test.concurrent(
    'faults if an expression gives no text where text is needed, and names the setting',
    async () => {
      const cases: [Record<string, unknown>, string][] = [
        [{ title: '${ {a: 1} }' }, 'with.title must be text, and its expression gives an object'],
        [{ title: '${ .nothing }' }, 'with.title must be text, and its expression gives null'],
        [{ description: '${ [1] }' }, 'with.description must be text, and its expression gives an array'],
        [
          { assignee: '${ {user: "ann"} }' },
          'with.assignee must be text, and its expression gives an object',
        ],
        [
          { candidates: { users: '${ [true] }' } },
          'with.candidates.users must be text, and its expression gives a boolean',
        ],
        [
          { expires: 'PT1H', escalate: [{ after: 'PT1M', to: { groups: '${ {} }' } }] },
          'with.escalate[0].to.groups must be text, and its expression gives an object',
        ],
      ];
      const runs = await Promise.all(cases.map(async ([more]) => ended(await start(human(more)))));
      for (const [i, run] of runs.entries()) {
        expect(run['error']).toMatchObject({
          type: expect.stringMatching(/\/validation$/),
          status: 400,
          detail: cases[i]?.[1],
          instance: '/do/0/review',
        });
      }
      const numbered = await start(human({ title: '${ 42 }', assignee: '${ null }' }));
      expect(await taskOf(numbered)).toMatchObject({ title: '42', assignee: null });
      await builder.post(`/runs/${numbered['id']}/cancel`);
    },
  );

  test.concurrent("is for the run's owner unless it names somebody, as its event says", async () => {
    const run = await start({ do: [{ review: { call: 'human', with: { title: 'Mine?' } } }] });
    const task = await taskOf(run, builder);
    const { logs } = await read(run);
    const created = logs.find(({ type }: { type: string }) => type === 'io.cadenza.hitl.task-created.v1');
    expect([task['assignee'], created.data.assignee]).toEqual([run['owner_id'], run['owner_id']]);
    await builder.post(`/runs/${run['id']}/cancel`);
  });

  test.concurrent('returns a rejection as an outcome, not as a fault', async () => {
    const run = await start(
      human({ require_comment: ['reject'], form: { type: 'object', required: ['n'] } }),
    );
    const task = await taskOf(run);
    expect((await decide(asAnn, task, { decision: 'reject' })).status).toBe(422);
    expect((await decide(asAnn, task, { decision: 'approve' })).status).toBe(422);
    await decide(asAnn, task, { decision: 'reject', comment: 'no' });
    expect(await ended(run)).toMatchObject({
      status: 'completed',
      output: { decision: 'reject', comment: 'no' },
    });
  });

  test('applies a decision that was made while no worker was running', async () => {
    const run = await start(human());
    const task = await taskOf(run);
    await platform.stopWorker();
    expect((await decide(asAnn, task, { decision: 'approve' })).body.decision.delivered).toBe(true);
    await platform.startWorker();
    expect(await ended(run)).toMatchObject({ status: 'completed', output: { decision: 'approve' } });
  });

  test.concurrent(
    'applies a decision that arrives before the workflow waits, or during a suspension',
    async () => {
      const run = await start(human());
      const task = await taskOf(run);
      await builder.post(`/runs/${run['id']}/suspend`);
      await until(
        () => read(run),
        (now) => now['status'] === 'suspended',
      );
      await decide(asAnn, task, { decision: 'approve' });
      const received = await until(
        () => read(run),
        (now) => types(now).includes('decision-received'),
      );
      expect(received['status']).toBe('suspended');
      expect(types(received)).not.toContain('decision-applied');
      await builder.post(`/runs/${run['id']}/resume`);
      expect(await ended(run)).toMatchObject({ status: 'completed', output: { decision: 'approve' } });
    },
  );

  test.concurrent(
    'keeps a decision made during a suspension until the resume, even past the expiry',
    async () => {
      const run = await start(human({ expires: { seconds: 30 } }));
      const task = await taskOf(run);
      await builder.post(`/runs/${run['id']}/suspend`);
      await until(
        () => read(run),
        (now) => now['status'] === 'suspended',
      );
      expect((await decide(asAnn, task, { decision: 'approve' })).status).toBe(200);
      await pastExpiry(task);
      const late = await read(run);
      expect(late).toMatchObject({ status: 'suspended', tasks: [{ name: 'review', status: 'waiting' }] });
      expect(types(late)).not.toContain('decision-applied');
      await builder.post(`/runs/${run['id']}/resume`);
      expect(await ended(run)).toMatchObject({ status: 'completed', output: { decision: 'approve' } });
    },
  );

  test.concurrent('gets an undelivered decision from the reconciler', async () => {
    const run = await start(human());
    const task = await taskOf(run);
    const em = platform.orm.em.fork();
    const { decision } = await em.transactional(async (tx) => {
      const seen = await loadForChange(tx, ann, task['id']);
      return decideTask(tx, { actor: ann, via: 'api' }, seen, { value: { decision: 'approve' } });
    });
    expect((await asAnn.get(`/hitl/tasks/${task['id']}`)).body.decision).toEqual({
      ...decision,
      decided_by_name: 'ann',
      delivered: false,
    });
    await em.execute(`update run_signal set next_at = clock_timestamp() - interval '1 minute' where id = ?`, [
      decision.id,
    ]);
    await platform.reconcile();
    expect(await ended(run)).toMatchObject({
      status: 'completed',
      output: { decision: 'approve', decided_by: ann.id },
    });
    expect((await asAnn.get(`/hitl/tasks/${task['id']}`)).body.decision.delivered).toBe(true);
  });

  test.concurrent('applies a decision once, however often it is delivered', async () => {
    const run = await start({
      do: [{ each: { for: { in: '[1, 2]' }, do: [{ review: { call: 'human', with: forAnn } }] } }],
    });
    const first = await taskOf(run);
    const { decision } = (await decide(asAnn, first, { decision: 'approve' })).body;
    const { id, delivered: _, ...said } = decision;
    const [second] = await until(
      () => tasksOf(run),
      (found) => found.length === 1 && found[0]?.['id'] !== first['id'],
    );
    for (let time = 0; time < 3; time++) {
      await platform.app.deps.temporal.signal(run['id'], {
        id,
        kind: 'hitl.decision',
        task_id: first['id'],
        decision_id: id,
        ...said,
      });
    }
    // The repeats are in the history before the decision that ends the run.
    await until(
      () => read(run),
      (now) => now['status'] === 'waiting',
    );
    await decide(asAnn, second ?? {}, { decision: 'reject' });
    const done = await ended(run);
    expect(done).toMatchObject({ status: 'completed', output: { decision: 'reject' } });
    expect(types(done).filter((type) => type === 'decision-received')).toHaveLength(2);
    expect(types(done).filter((type) => type === 'decision-applied')).toHaveLength(2);
    gapless(done);
  });

  test.concurrent('with a quorum returns all votes as output', async () => {
    const run = await start(
      human({ candidates: { users: ['ann', 'bob'] }, quorum: { approvals: 2, exclude_initiator: true } }),
    );
    const task = await taskOf(run);
    expect((await decide(asAnn, task, { decision: 'approve' })).body.decision.delivered).toBeNull();
    await decide(asBob, task, { decision: 'approve', comment: 'me too' });
    expect(await ended(run)).toMatchObject({
      status: 'completed',
      output: {
        decision: 'approve',
        comment: 'me too',
        decided_by: bob.id,
        votes: [
          { decided_by: ann.id, decision: 'approve' },
          { decided_by: bob.id, comment: 'me too' },
        ],
      },
    });
  });
});

describe('people whom the quorum excludes', () => {
  test.concurrent('may be named by expressions, and others decide', async () => {
    const run = await start(
      human({
        candidates: { users: ['ann', 'bob'] },
        quorum: { approvals: 1, exclude: { users: '${ .authors }', groups: ['${ .group }'] } },
      }),
      { what: 'tea', authors: ['ANN', 'nobody'], group: 'auditors' },
    );
    const task = await taskOf(run, asBob);
    expect(task['quorum']).toMatchObject({
      exclude: { users: ['ANN', 'nobody'], groups: ['auditors'] },
    });
    const refused = await decide(asAnn, task, { decision: 'approve' });
    expect([refused.status, refused.body.code]).toEqual([403, 'person_excluded']);
    expect((await decide(asBob, task, { decision: 'approve' })).status).toBe(200);
    expect(await ended(run)).toMatchObject({ status: 'completed', output: { decided_by: bob.id } });
  });

  test.concurrent('fault the task if the expression gives no text', async () => {
    const run = await start(human({ quorum: { approvals: 1, exclude: { users: '${ {a: 1} }' } } }));
    const done = await ended(run);
    expect(done).toMatchObject({
      status: 'faulted',
      error: { type: expect.stringContaining('/errors/validation'), instance: '/do/0/review' },
    });
    expect(done['error'].detail).toContain('with.quorum.exclude.users must be text');
  });
});

describe('the times of a human task', () => {
  test.concurrent('fault it with a timeout error at its expiry', async () => {
    const run = await start(human({ expires: 'PT0.3S' }));
    const done = await ended(run);
    expect(done).toMatchObject({
      status: 'faulted',
      error: { type: expect.stringContaining('/errors/timeout'), status: 408, instance: '/do/0/review' },
    });
    gapless(done);
    const [task] = (await asAnn.get(`/hitl/tasks?status=expired&run_id=${run['id']}`)).body;
    expect(task).toMatchObject({ status: 'expired' });
    expect((await decide(asAnn, task, { decision: 'approve' })).body).toMatchObject({
      status: 409,
      code: 'task_expired',
    });
  });

  test('hold while no worker runs: a late decision is refused, one in time wins', async () => {
    const [late, inTime] = await Promise.all([
      start(human({ expires: 'PT30S', on_expiry: { decision: 'reject' } })),
      start(human({ expires: 'PT30S' })),
    ]);
    const [lateTask, task] = await Promise.all([taskOf(late), taskOf(inTime)]);
    await platform.stopWorker();
    expect((await decide(asAnn, task, { decision: 'approve' })).status).toBe(200);
    await Promise.all([task, lateTask].map(pastExpiry));
    expect((await decide(asAnn, lateTask, { decision: 'approve' })).body.code).toBe('task_expired');
    await platform.startWorker();
    const expired = await ended(late);
    expect(expired).toMatchObject({
      status: 'completed',
      output: { decision: 'reject', decided_by: null },
    });
    // The refused request and the timer are one event.
    expect(types(expired).filter((type) => type === 'task-expired')).toHaveLength(1);
    const done = await ended(inTime);
    expect(done).toMatchObject({ status: 'completed', output: { decision: 'approve', decided_by: ann.id } });
    expect(types(done)).not.toContain('task-expired');
  });

  test.concurrent('mark it as due, remind and escalate', async () => {
    const run = await start(
      human({
        due: 'PT1S',
        remind: ['PT0.5S', 'PT1.5S'],
        escalate: [{ after: 'PT6S', to: { groups: ['bosses'] } }],
      }),
    );
    const task = await taskOf(run);
    expect(await tasksOf(run, asBob)).toEqual([]);
    const escalated = await taskOf(run, asBob);
    expect(escalated).toMatchObject({
      id: task['id'],
      escalation_level: 1,
      candidates: { users: ['ann'], groups: ['bosses'] },
    });
    expect((await asBob.get(`/hitl/tasks?overdue=true&run_id=${run['id']}`)).body).toHaveLength(1);
    await decide(asBob, task, { decision: 'approve' });
    const done = await ended(run);
    expect(done['output']).toMatchObject({ decided_by: bob.id });
    const passed = types(done).filter((type) => /overdue|reminder|escalated/.test(type));
    expect(passed).toEqual(['task-reminder', 'task-overdue', 'task-reminder', 'task-escalated']);
  });
});

describe('a human task ends', () => {
  test.concurrent('when its run is cancelled', async () => {
    const run = await start(human());
    const task = await taskOf(run);
    await builder.post(`/runs/${run['id']}/cancel`);
    const done = await ended(run);
    expect(done['status']).toBe('cancelled');
    expect(types(done).filter((type) => type === 'task-cancelled')).toHaveLength(1);
    expect(types(done).at(-1)).toBe('cancelled');
    expect((await asAnn.get(`/hitl/tasks/${task['id']}`)).body.status).toBe('cancelled');
    expect((await decide(asAnn, task, { decision: 'approve' })).body).toMatchObject({
      status: 409,
      code: 'task_cancelled',
      decision: null,
    });
  });

  test.concurrent('when its branch loses a competing fork', async () => {
    const branch = (title: string) => ({ call: 'human', with: { title, candidates: { users: ['ann'] } } });
    const run = await start({
      do: [
        { race: { fork: { compete: true, branches: [{ one: branch('one') }, { two: branch('two') }] } } },
        { after: branch('after') },
      ],
    });
    const both = await until(
      () => tasksOf(run),
      (found) => found.length === 2,
    );
    const [winner, loser] = both as [RunRecord, RunRecord];
    await decide(asAnn, winner, { decision: 'approve' });
    const next = await until(
      () => tasksOf(run),
      (found) => found.some((task) => task['title'] === 'after'),
    );
    expect(next).toHaveLength(1);
    expect((await asAnn.get(`/hitl/tasks/${loser['id']}`)).body.status).toBe('cancelled');
    await decide(asAnn, next[0] ?? {}, { decision: 'approve' });
    const done = await ended(run);
    expect(done['status']).toBe('completed');
    expect(types(done).filter((type) => type === 'task-cancelled')).toHaveLength(1);
    gapless(done);
  });

  test.concurrent('with the decision of a delegate whom the definition allows', async () => {
    const candidates = { users: ['ann'] };
    const closed = await taskOf(await start(human({ candidates })));
    const refused = await asAnn.post(`/hitl/tasks/${closed['id']}/delegate`, { to: 'bob' });
    expect(refused.body).toMatchObject({
      status: 422,
      errors: [{ pointer: '/to', code: 'not_a_candidate' }],
    });
    const run = await start(human({ candidates, delegate: 'anyone' }));
    const task = await taskOf(run);
    expect((await asAnn.post(`/hitl/tasks/${task['id']}/delegate`, { to: 'bob' })).status).toBe(200);
    expect((await decide(asAnn, task, { decision: 'approve' })).body.code).toBe('delegated');
    await decide(asBob, task, { decision: 'approve' });
    expect(await ended(run)).toMatchObject({
      status: 'completed',
      output: { decision: 'approve', decided_by: bob.id },
    });
  });

  test.concurrent('without its initiator, who owns the root run of a child', async () => {
    const child = await builder.post('/workflows', {
      name: 'child',
      definition: {
        document: { dsl: '1.0.0', namespace: 'test', name: 'child', version: '1.0.0' },
        ...human({ candidates: { roles: ['approver'] }, quorum: { approvals: 1, exclude_initiator: true } }),
      },
    });
    expect(child.status).toBe(201);
    const run = await start({
      do: [
        {
          sub: {
            run: { workflow: { namespace: 'test', name: 'child', version: '1.0.0', input: { what: 'it' } } },
          },
        },
      ],
    });
    const inChild = async (): Promise<RunRecord[]> => (await asAnn.get('/hitl/tasks?q=child')).body;
    const [task] = await until(inChild, (found) => found.length > 0);
    const waiting = await until(
      () => read(run),
      (now) => now['waiting_on'].length > 0,
    );
    expect(waiting['waiting_on']).toMatchObject([{ kind: 'human', id: task?.['id'] }]);
    expect((await decide(builder, task ?? {}, { decision: 'approve' })).body.code).toBe('initiator_excluded');
    await decide(asAnn, task ?? {}, { decision: 'approve' });
    expect(await ended(run)).toMatchObject({ status: 'completed', output: { decision: 'approve' } });
  });
});

test.each<[string, Record<string, unknown>, string]>([
  ['title', { title: '${ "t" * 1001 }' }, 'with.title has more than 1000 characters'],
  [
    'list of people',
    { candidates: { users: '${ [range(1001) | "user\\(.)"] }' } },
    'with names more than 1000 people, roles, groups and teams',
  ],
  [
    'name',
    { escalate: [{ after: 'PT1H', to: { users: ['${ "u" * 256 }'] } }] },
    'with has a name of more than 255 characters',
  ],
])('a question with too long a %s is an error, which catch can handle', async (_what, more, detail) => {
  const { do: asking } = human(more);
  const caught = { try: asking, catch: { do: [{ seen: { set: { detail: '${ $error.detail }' } } }] } };
  const run = await ended(await start({ do: [{ caught }] }));
  expect(run).toMatchObject({ status: 'completed', output: { detail } });
  expect(await tasksOf(run, builder)).toEqual([]);
});

test('people are mailed through the worker when they are asked and reminded', async () => {
  // Who has no other tasks: mails about several of them may be put together.
  const asCyd = await platform.as(await platform.createUser({ username: 'cyd', roles: ['approver'] }));
  const candidates = { users: ['cyd'] };
  const run = await start(human({ candidates, title: 'Taste the tea', remind: ['PT1S'] }));
  const subjects = (): (string | undefined)[] =>
    smtp.mails.filter(({ to }) => to.includes('cyd@example.com')).map((mail) => headerOf(mail, 'Subject'));
  await until(
    async () => subjects(),
    (found) => found.includes('Reminder: Taste the tea'),
  );
  expect(subjects()).toContain('Waiting for a decision: Taste the tea');
  const { logs } = await read(run);
  const created = logs.find(({ type }: { type: string }) => type === 'io.cadenza.hitl.task-created.v1');
  expect(created.data).toMatchObject({ assignee: null, candidates });
  await decide(asCyd, await taskOf(run, asCyd), { decision: 'approve' });
  expect((await ended(run))['status']).toBe('completed');
});
