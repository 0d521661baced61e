/**
 * `exclude_initiator`: nobody who took part in starting a run may decide its tasks, by any way of deciding.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import type { RunProjection } from '../../contracts/run-events.ts';
import { createChildRun } from '../../domain/runs/children.ts';
import { appendEvents } from '../../domain/runs/events.ts';
import { matchEvents } from '../../domain/events/matcher.ts';
import { runLimits } from '../../domain/runs/limits.ts';
import { fillTimes } from '../../domain/schedules/service.ts';
import {
  createClient,
  noTemporal,
  startTestApp,
  type Client,
  type TestApp,
  type TestUser,
} from '../support/app.ts';
import { insertTask } from '../support/human-tasks.ts';
import { humanTask } from '../support/definitions.ts';

const definition = { do: [{ review: humanTask('Pay?') }] };
const guarded = {
  candidates: { users: [], roles: ['approver'], groups: [] },
  quorum: { approvals: 1, rejections: 1, exclude_initiator: true },
};

let app: TestApp;
let bob: TestUser;
let eve: TestUser;
let asBob: Client;
let asEve: Client;
let asAnn: Client;
let workflowId: string;

beforeAll(async () => {
  app = await startTestApp();
  await app.createUser({ username: 'ann', roles: ['approver'] });
});
beforeEach(async () => {
  bob = await app.createUser({ roles: ['builder'] });
  eve = await app.createUser({ roles: ['admin'] });
  asBob = await app.as(bob);
  asEve = await app.as(eve);
  asAnn = await app.as(await app.createUser({ roles: ['approver'] }));
  workflowId = (await asBob.post('/workflows', { name: 'pay', definition })).body.id;
});
afterAll(() => app.close());

const sql = <T>(text: string, values: unknown[]): Promise<T[]> =>
  app.orm.em.fork().execute<T[]>(text, values);
const startAs = async (who: Client): Promise<string> =>
  (await who.post(`/workflows/${workflowId}/run`, {})).body.id;

/** Leaves the row as the end of a run with a failed task does. */
async function fault(runId: string): Promise<void> {
  await sql(`update run set status = 'faulted' where id = ?`, [runId]);
  await sql(`insert into run_checkpoint (run_id, state) values (?, '{}')`, [runId]);
}

async function retryAs(who: Client, runId: string): Promise<string> {
  await fault(runId);
  const retried = await who.post(`/runs/${runId}/retry`);
  expect(retried.status).toBe(201);
  return retried.body.id;
}

async function childOf(runId: string): Promise<string> {
  const child = uuidv7();
  await app.orm.em.fork().transactional((em) =>
    createChildRun(
      em,
      {
        run_id: runId,
        child_run_id: child,
        task: '/do/0/sub',
        input: {},
        workflow: { id: workflowId, revision: null },
        batch: { events: [], projection: null, acks: [] },
      },
      runLimits(app.env),
    ),
  );
  return child;
}

/** The problem codes of each way of acting on the task. */
async function refusals(who: Client, taskId: string): Promise<string[]> {
  const batch = await who.post('/hitl/decisions', { decisions: [{ task_id: taskId, decision: 'approve' }] });
  const problems = [
    (await who.post(`/hitl/tasks/${taskId}/decision`, { decision: 'approve' })).body,
    (await who.post(`/hitl/tasks/${taskId}/claim`)).body,
    (await who.post(`/hitl/tasks/${taskId}/delegate`, { to: 'ann' })).body,
    batch.body.results[0].problem,
  ];
  return problems.map(({ status, code }) => `${status} ${code}`);
}
const excluded = Array.from({ length: 4 }, () => '403 initiator_excluded');

async function decide(who: Client, taskId: string): Promise<number> {
  return (await who.post(`/hitl/tasks/${taskId}/decision`, { decision: 'approve' })).status;
}

describe('a run that was retried', () => {
  test('can be approved neither by its starter nor by the admin who retried it', async () => {
    const taskId = await insertTask(app.orm, await retryAs(asEve, await startAs(asBob)), guarded);
    expect(await refusals(asBob, taskId)).toEqual(excluded);
    expect(await refusals(asEve, taskId)).toEqual(excluded);
    const toBob = await asAnn.post(`/hitl/tasks/${taskId}/delegate`, { to: bob.id });
    expect(toBob.body).toMatchObject({
      status: 422,
      errors: [{ pointer: '/to', code: 'initiator_excluded' }],
    });
    expect(await decide(asAnn, taskId)).toBe(200);
  });

  test('remembers all initiators along a chain of retries', async () => {
    const mia = await app.createUser({ roles: ['admin'] });
    const first = await retryAs(asEve, await startAs(asBob));
    const taskId = await insertTask(app.orm, await retryAs(await app.as(mia), first), guarded);
    for (const client of [asBob, asEve, await app.as(mia)])
      expect(await refusals(client, taskId)).toEqual(excluded);
    expect(await decide(asAnn, taskId)).toBe(200);
  });

  test('remembers its starter after a transfer of everything that the starter owned', async () => {
    const runId = await startAs(asBob);
    const successor = await app.createUser({ roles: ['builder'] });
    expect((await asEve.post(`/users/${bob.id}/transfer`, { to: successor.id })).status).toBe(200);
    const taskId = await insertTask(app.orm, runId, guarded);
    expect(await refusals(asBob, taskId)).toEqual(excluded);
    expect(await refusals(await app.as(successor), taskId)).toEqual(excluded);
  });

  test('excludes nobody if the definition does not ask for it', async () => {
    const quorum = { ...guarded.quorum, exclude_initiator: false };
    const taskId = await insertTask(app.orm, await retryAs(asEve, await startAs(asBob)), {
      ...guarded,
      quorum,
    });
    expect(await decide(asBob, taskId)).toBe(200);
  });
});

describe('a child run', () => {
  test('of a retried run can be approved by none of its initiators', async () => {
    const child = await childOf(await retryAs(asEve, await startAs(asBob)));
    const taskId = await insertTask(app.orm, await childOf(child), guarded);
    expect(await refusals(asBob, taskId)).toEqual(excluded);
    expect(await refusals(asEve, taskId)).toEqual(excluded);
    expect(await decide(asAnn, taskId)).toBe(200);
  });

  test('keeps the initiators of its parents when it is retried by itself', async () => {
    const taskId = await insertTask(
      app.orm,
      await retryAs(asEve, await childOf(await startAs(asBob))),
      guarded,
    );
    expect(await refusals(asBob, taskId)).toEqual(excluded);
    expect(await refusals(asEve, taskId)).toEqual(excluded);
    expect(await decide(asAnn, taskId)).toBe(200);
  });
});

describe('a run that another run starts through the API', () => {
  const KEY = '/do/0/ask:0:1';
  let carol: TestUser;
  let asCarol: Client;
  let agentId: string;
  let caller: string;

  beforeEach(async () => {
    carol = await app.createUser({ roles: ['builder'] });
    asCarol = await app.as(carol);
    const workflow = await asCarol.post('/workflows', { name: 'inner', definition });
    const agent = {
      name: 'inner',
      type: 'workflow',
      version: '1.0.0',
      visibility: 'public',
      configuration: { workflow_id: workflow.body.id },
    };
    agentId = (await asCarol.post('/agents', agent)).body.id;
    caller = await startAs(asBob);
    await sql(`insert into invocation (run_id, key) values (?, ?)`, [caller, `${caller}:${KEY}`]);
  });

  const send = (metadata: Record<string, unknown>) => {
    const message = { messageId: uuidv7(), role: 'ROLE_USER', parts: [{ text: 'Pay' }], metadata };
    const headers = { 'a2a-version': '1.0' };
    return asCarol.post(
      `/api/v1/a2a/${agentId}/message:send`,
      { message, configuration: { returnImmediately: true } },
      { headers },
    );
  };

  test('over A2A can be approved neither by the starter nor by the owner of the token', async () => {
    const sent = await send({ 'io.cadenza.invocation': `${caller}:${KEY}` });
    expect(sent.status).toBe(200);
    const taskId = await insertTask(app.orm, sent.body.task.id, guarded);
    expect(await refusals(asBob, taskId)).toEqual(excluded);
    expect(await refusals(asCarol, taskId)).toEqual(excluded);
    expect(await decide(asAnn, taskId)).toBe(200);
  });

  test.each(['run', 'invoke'])(
    'over POST …/%s can be approved neither by the starter nor by the owner of the token',
    async (way) => {
      const path =
        way === 'run'
          ? `/workflows/${(await asCarol.post('/workflows', { name: 'w', definition })).body.id}/run`
          : `/agents/${agentId}/invoke`;
      const started = await asCarol.post(path, {}, { headers: { 'idempotency-key': `${caller}:${KEY}` } });
      expect(started.status).toBe(201);
      const taskId = await insertTask(app.orm, started.body.id, guarded);
      expect(await refusals(asBob, taskId)).toEqual(excluded);
      expect(await refusals(asCarol, taskId)).toEqual(excluded);
      expect(await decide(asAnn, taskId)).toBe(200);
    },
  );

  test('gets no initiator from an invocation that does not exist', async () => {
    for (const forged of [
      `${caller}:/do/9/other:0:1`,
      `${uuidv7()}:${KEY}`,
      'nonsense',
      '',
      7,
      `${caller}`,
    ]) {
      const sent = await send({ 'io.cadenza.invocation': forged });
      expect(sent.status).toBe(200);
      const taskId = await insertTask(app.orm, sent.body.task.id, guarded);
      expect(await decide(asBob, taskId)).toBe(200);
    }
  });
});

describe('a run of a schedule', () => {
  const runsOf = (id: string) => sql<{ id: string }>(`select id from run where workflow_id = ?`, [id]);
  const create = async (who: Client, schedule: unknown, teamId: string | null): Promise<string> => {
    const body = { name: 'scheduled', team_id: teamId, definition: { ...definition, schedule } };
    return (await who.post('/workflows', body)).body.id;
  };
  let carol: TestUser;
  let asCarol: Client;
  let teamId: string;

  beforeEach(async () => {
    carol = await app.createUser({ roles: ['builder'] });
    asCarol = await app.as(carol);
    teamId = (await asEve.post('/teams', { name: `pay-${uuidv7()}`, admin: eve.id })).body.id;
    for (const { id } of [bob, carol])
      expect((await asEve.put(`/teams/${teamId}/members/${id}`, { role: 'builder' })).status).toBeLessThan(
        300,
      );
  });

  test('that was triggered can be approved neither by who did it nor by the owner', async () => {
    const id = await create(asBob, { cron: '0 0 1 1 *' }, teamId);
    const { body: run } = await asCarol.post(`/workflows/${id}/schedule/trigger`);
    expect(run.owner_id).toBe(bob.id);
    const taskId = await insertTask(app.orm, run.id, guarded);
    expect(await refusals(asCarol, taskId)).toEqual(excluded);
    expect(await refusals(asBob, taskId)).toEqual(excluded);
    expect(await decide(asAnn, taskId)).toBe(200);
  });

  test('of a past time can be approved neither by who asked for it nor by the owner', async () => {
    const id = await create(asBob, { cron: '0 0 1 1 *' }, teamId);
    const at = new Date('2026-01-01T00:00:00Z');
    const [start] = await app.orm.em
      .fork()
      .transactional((em) => fillTimes(em, carol, id, [at], runLimits(app.env)));
    const taskId = await insertTask(app.orm, start!.run_id!, guarded);
    expect(await refusals(asCarol, taskId)).toEqual(excluded);
    expect(await refusals(asBob, taskId)).toEqual(excluded);
    expect(await decide(asAnn, taskId)).toBe(200);
  });

  const event = (type: string) => ({ specversion: '1.0', id: uuidv7(), source: 'urn:four-eyes', type });
  const headers = { 'content-type': 'application/cloudevents+json' };
  const sendFor = async (who: Client, team: string | null, type: string): Promise<void> => {
    const query = team === null ? '' : `?team_id=${team}`;
    expect((await who.post(`/events${query}`, event(type), { headers })).status).toBe(202);
    await match();
  };
  const match = async (): Promise<void> => {
    const deps = {
      orm: app.orm,
      temporal: noTemporal,
      limits: runLimits(app.env),
      logger: { warn: () => {} },
    };
    await matchEvents(deps);
  };

  test('by events can be approved by none of their senders', async () => {
    const [first, last] = [`first-${uuidv7()}`, `last-${uuidv7()}`];
    const on = { all: [{ with: { type: first } }, { with: { type: last } }] };
    const id = await create(asBob, { on }, teamId);
    await sendFor(asCarol, teamId, first);
    await sendFor(asEve, teamId, last);
    const [run] = await runsOf(id);
    const taskId = await insertTask(app.orm, run!.id, guarded);
    for (const who of [asCarol, asEve, asBob]) expect(await refusals(who, taskId)).toEqual(excluded);
    expect(await decide(asAnn, taskId)).toBe(200);
  });

  test('by a gathering can not be approved by who ended it', async () => {
    const [type, end] = [`paid-${uuidv7()}`, `end-${uuidv7()}`];
    const on = { any: [{ with: { type } }], until: { one: { with: { type: end } } } };
    const id = await create(asBob, { on }, teamId);
    await sendFor(asCarol, teamId, type);
    await sendFor(asEve, teamId, end);
    const [run] = await runsOf(id);
    const taskId = await insertTask(app.orm, run!.id, guarded);
    for (const who of [asCarol, asEve]) expect(await refusals(who, taskId)).toEqual(excluded);
  });

  test('by an event of another run can not be approved by its initiators', async () => {
    const type = `emitted-${uuidv7()}`;
    const id = await create(asBob, { on: { one: { with: { type } } } }, null);
    const emitter = await retryAs(asEve, await startAs(asBob));
    await sql(`update run set owner_id = ? where id = ?`, [bob.id, emitter]);
    const emitted = { ...event(type), data: {} };
    await sql(
      `insert into inbound_event (id, owner_id, source, event_id, type, event, run_id)
       values (?, ?, ?, ?, ?, ?::json, ?)`,
      [uuidv7(), bob.id, emitted.source, emitted.id, type, JSON.stringify(emitted), emitter],
    );
    await match();
    const [run] = await runsOf(id);
    const taskId = await insertTask(app.orm, run!.id, guarded);
    expect(await refusals(asEve, taskId)).toEqual(excluded);
    expect(await decide(asAnn, taskId)).toBe(200);
  });

  test("by a machine client's event can not be approved by the client's owner", async () => {
    const type = `machine-${uuidv7()}`;
    const id = await create(asBob, { on: { one: { with: { type } } } }, teamId);
    const { client_id, client_secret } = (await asCarol.post('/users/me/clients', { name: 'till' })).body;
    const grant = { grant_type: 'client_credentials', client_id, client_secret };
    const { access_token: token } = (await app.anonymous.post('/auth/token', grant)).body;
    await sendFor(createClient(app.url, token), teamId, type);
    const [run] = await runsOf(id);
    const taskId = await insertTask(app.orm, run!.id, guarded);
    expect(await refusals(asCarol, taskId)).toEqual(excluded);
    expect(await decide(asAnn, taskId)).toBe(200);
  });
});

describe('an answer over A2A', () => {
  test('is refused to an initiator, and accepted from another candidate', async () => {
    const workflow = await asBob.post('/workflows', { name: 'asked', definition });
    const agent = {
      name: 'asked',
      type: 'workflow',
      version: '1.0.0',
      visibility: 'private',
      configuration: { workflow_id: workflow.body.id },
    };
    const base = `/api/v1/a2a/${(await asBob.post('/agents', agent)).body.id}`;
    const v1 = { headers: { 'a2a-version': '1.0' } };
    const say = (text: string, taskId?: string) => {
      const message = {
        messageId: uuidv7(),
        role: 'ROLE_USER',
        parts: [{ text }],
        ...(taskId ? { taskId } : {}),
      };
      return asBob.post(`${base}/message:send`, { message, configuration: { returnImmediately: true } }, v1);
    };
    const runId = (await say('Pay')).body.task.id;
    const taskId = await insertTask(app.orm, runId, guarded);
    const projection: RunProjection = {
      counter: 1,
      status: 'waiting',
      waiting_on: [{ kind: 'human', task: '/do/0/review', id: taskId }],
      waiting_count: 1,
    };
    await appendEvents(app.orm.em.fork(), runId, { events: [], projection, acks: [] });
    expect((await asBob.get(`${base}/tasks/${runId}`, v1)).body.status.state).toBe(
      'TASK_STATE_INPUT_REQUIRED',
    );
    const answer = await say('yes', runId);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect((await asBob.get(`/hitl/tasks/${taskId}`)).body.status).toBe('open');
    expect(await decide(asAnn, taskId)).toBe(200);
  });
});
