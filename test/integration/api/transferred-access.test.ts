/** Who sees and steers what hangs on handed-over runs, agents and workflows. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { holdSession } from '../../../domain/conversations/sessions.ts';
import { fanOut } from '../../../domain/delivery/fan-out.ts';
import { findRepeatedRun, noteProtocolCall } from '../../../domain/runs/protocol-calls.ts';
import { beginTransfer } from '../../../domain/transfers/begin.ts';
import { continueTransfers } from '../../../domain/transfers/continue.ts';
import { createDeliveryKinds } from '../../../worker/delivery-kinds.ts';
import { agentBody, registeredAgent } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { httpTask } from '../../support/definitions.ts';
import { createdWorkflow } from '../../support/marketplace.ts';
import { until } from '../../support/platform.ts';
import { workflowAgent, workflowAgentPath } from '../../support/workflow-agent.ts';

const V1 = { 'A2A-Version': '1.0' };
const TASK_NOT_FOUND = -32001;
const URL = 'https://hooks.example/x';

let app: TestApp;
let boss: TestUser;
let admin: Client;

beforeAll(async () => {
  app = await startTestApp();
  boss = await app.createUser({ roles: ['admin'] });
  admin = await app.as(boss);
});
afterAll(() => app.close());

const fork = () => app.orm.em.fork();
const sql = (text: string, values: unknown[] = []) => fork().execute<any[]>(text, values);

interface Person {
  user: TestUser;
  client: Client;
}

async function person(): Promise<Person> {
  const user = await app.createUser({ roles: ['builder'] });
  return { user, client: await app.as(user) };
}

async function transferred(from: Person, to: Person): Promise<Record<string, unknown>> {
  const done = await admin.post(`/users/${from.user.id}/transfer`, { to: to.user.id });
  expect(done).toMatchObject({ status: 200, body: { status: 'done' } });
  return done.body;
}

test('a task of A2A belongs to the new owner of its run, and is unknown to the former one', async () => {
  const [ann, bob] = [await person(), await person()];
  const path = await workflowAgentPath(
    admin,
    { do: [{ a: { set: { text: 'x' } } }] },
    { visibility: 'public' },
  );
  const rpc = async ({ client }: Person, method: string, params: unknown) =>
    (await client.post(path, { jsonrpc: '2.0', id: 1, method, params }, { headers: V1 })).body;
  const message = (messageId: string) => ({ messageId, role: 'ROLE_USER', parts: [{ text: 'x' }] });
  const send = (from: Person, messageId: string, push: Record<string, unknown> = {}) =>
    rpc(from, 'SendMessage', {
      message: message(messageId),
      configuration: { returnImmediately: true, ...push },
    });
  const push = { taskPushNotificationConfig: { id: 'own', url: URL } };
  const { id: live, contextId } = (await send(ann, 'm-1', push)).result.task;
  const { id: ended } = (await send(ann, 'm-2')).result.task;
  await sql(`update run set status = 'completed', finished_at = clock_timestamp() where id = ?`, [ended]);
  await sql(`update a2a_task set state = 'TASK_STATE_COMPLETED' where id = ?`, [ended]);
  expect(await transferred(ann, bob)).toMatchObject({ runs: 2 });

  for (const id of [live, ended]) {
    expect((await rpc(bob, 'GetTask', { id })).result.id).toBe(id);
    for (const [method, params] of [
      ['GetTask', { id }],
      ['CancelTask', { id }],
      ['SubscribeToTask', { id }],
      ['SendMessage', { message: { ...message('m-3'), taskId: id } }],
      ['CreateTaskPushNotificationConfig', { taskId: id, url: URL }],
      ['ListTaskPushNotificationConfigs', { taskId: id }],
    ] as const)
      expect([method, (await rpc(ann, method, params)).error?.code]).toEqual([method, TASK_NOT_FOUND]);
  }
  expect((await rpc(ann, 'ListTasks', {})).result).toMatchObject({ tasks: [], totalSize: 0 });
  expect((await rpc(bob, 'ListTasks', { contextId })).result).toMatchObject({ tasks: [{ id: live }] });

  // A repeat neither does the work again nor leads to the task, nor has anybody told of it.
  const spying = { taskPushNotificationConfig: { id: 'spy', url: URL } };
  expect((await send(ann, 'm-1', spying)).error.code).toBe(TASK_NOT_FOUND);
  const configs = await rpc(bob, 'ListTaskPushNotificationConfigs', { taskId: live });
  expect(configs.result.configs.map(({ id }: { id: string }) => id)).toEqual(['own']);
  expect(await sql('select owner_id from delivery_target where run_id = ?', [live])).toEqual([
    { owner_id: bob.user.id },
  ]);
  // The same message of somebody else is another message.
  expect([live, ended]).not.toContain((await send(bob, 'm-1')).result.task.id);

  const cancelled = await rpc(bob, 'CancelTask', { id: live });
  expect(cancelled.result.status.state).toBe('TASK_STATE_CANCELED');
});

describe('push notifications', () => {
  const definition = { do: [{ a: { set: { text: 'x' } } }] };
  /** Starts a task of which a receiver is told. @returns its id */
  const send = async ({ client }: Person, agent: string): Promise<string> => {
    const message = { messageId: uuidv7(), role: 'ROLE_USER', parts: [{ text: 'x' }] };
    const push = { taskPushNotificationConfig: { id: 'own', url: URL } };
    const params = { message, configuration: { returnImmediately: true, ...push } };
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params };
    return (await client.post(`/api/v1/a2a/${agent}`, body, { headers: V1 })).body.result.task.id;
  };
  /** The states that the receiver of the task is told, oldest first. */
  const pushed = async (task: string): Promise<string[]> => {
    const { encryption, keys } = app.app.deps;
    const kinds = createDeliveryKinds({ orm: app.orm, encryption, keys, baseUrl: app.url });
    await until(
      () => fanOut({ orm: app.orm, kinds }),
      ({ state }) => state === 'done',
    );
    const rows = await sql(
      `select d.body from delivery d join delivery_target t on t.id = d.target_id
        where t.run_id = ? order by d.ord`,
      [task],
    );
    return rows.map(({ body }) => /TASK_STATE_(\w+)/.exec(body)?.[1] ?? body);
  };
  const cancel = async ({ client }: Person, task: string): Promise<void> =>
    expect((await client.post(`/runs/${task}/cancel`)).status).toBe(200);

  test('stop while the owner of the task does not see the agent, who may still read the run', async () => {
    const [ann, kim] = [await person(), await person()];
    const agent = await workflowAgent(admin, definition, { visibility: 'public' });
    const [told, untold] = [await send(ann, agent), await send(ann, agent)];
    expect([await pushed(told), await pushed(untold)]).toEqual([[], []]);
    await cancel(ann, told);
    expect(await pushed(told)).toEqual(['CANCELED']);
    expect((await admin.patch(`/agents/${agent}`, { visibility: 'private' })).status).toBe(200);
    expect((await ann.client.get(`/runs/${untold}`)).status).toBe(200);
    await cancel(ann, untold);
    expect(await pushed(untold)).toEqual([]);
    // Seen again, what comes from then on is pushed, and nothing of the time between.
    await admin.patch(`/agents/${agent}`, { visibility: 'public' });
    expect(await pushed(untold)).toEqual([]);
    const later = await send(kim, agent);
    await admin.patch(`/agents/${agent}`, { visibility: 'private' });
    expect(await pushed(later)).toEqual([]);
    await admin.patch(`/agents/${agent}`, { visibility: 'public' });
    await cancel(kim, later);
    expect(await pushed(later)).toEqual(['CANCELED']);
  });

  test('go on for whoever sees the agent by a team or as an administrator', async () => {
    const [ann, leader] = [await person(), await person()];
    const agent = await workflowAgent(admin, definition, { visibility: 'public' });
    const tasks = [await send(ann, agent), await send({ user: boss, client: admin }, agent)];
    const team = (await admin.post('/teams', { name: 'readers', admin: leader.user.id })).body.id;
    await admin.put(`/teams/${team}/members/${ann.user.id}`, { role: 'viewer' });
    expect((await admin.patch(`/agents/${agent}`, { visibility: 'private', team_id: team })).status).toBe(
      200,
    );
    for (const [index, task] of tasks.entries()) {
      await cancel(index === 0 ? ann : { user: boss, client: admin }, task);
      expect(await pushed(task)).toEqual(['CANCELED']);
    }
  });

  test('go on while a transfer has handed over the task and not yet its agent', async () => {
    const [ann, bob] = [await person(), await person()];
    const agent = await workflowAgent(ann.client, definition);
    const task = await send(ann, agent);
    await transferred(ann, bob);
    await sql('update agent set owner_id = ? where id = ?', [ann.user.id, agent]);
    await sql('update transfer set finished_at = null where from_id = ?', [ann.user.id]);
    await cancel(bob, task);
    expect(await pushed(task)).toEqual(['CANCELED']);
  });
});

/** A run of the person's own workflow, and the workflow. */
async function started({ client }: Person): Promise<{ run: string; workflow: string }> {
  const { id: workflow } = await createdWorkflow(client, { do: [{ a: httpTask('https://a.example') }] });
  return { run: (await client.post(`/workflows/${workflow}/run`)).body.id, workflow };
}

test('a call of MCP or OpenAI that is repeated does not lead to a run that was handed over', async () => {
  const [ann, bob] = [await person(), await person()];
  const { run } = await started(ann);
  const call = {
    id: uuidv7(),
    protocol: 'openai' as const,
    user_id: ann.user.id,
    session_id: null,
    request_id: null,
    progress_token: null,
    idempotency_key: 'k-1',
    request_digest: 'd',
  };
  await noteProtocolCall(fork(), { ...call, run_id: run });
  const repeat = () => fork().transactional((em) => findRepeatedRun(em, { ...call, id: uuidv7() }));
  expect(await repeat()).toBe(run);
  await transferred(ann, bob);
  await expect(repeat()).rejects.toMatchObject({ code: 'not_found' });
});

interface Session {
  agent: string;
  session: string;
  text: string;
}

async function remembered({ user }: Person, { agent, session, text }: Session): Promise<void> {
  const id = uuidv7();
  await sql('insert into chat_session (id, agent_id, owner_id, name) values (?, ?, ?, ?)', [
    id,
    agent,
    user.id,
    session,
  ]);
  await sql(
    `insert into chat_message (session_id, conversation_id, role, text)
     values (?, gen_random_uuid(), 'user', ?)`,
    [id, text],
  );
}

const said = async ({ client }: Person, { agent, session }: Omit<Session, 'text'>) => {
  const reply = await client.get(`/agents/${agent}/sessions/${encodeURIComponent(session)}`);
  return reply.status === 200 ? reply.body.said.map(({ text }: { text: string }) => text) : reply.status;
};
const sessionsOf = async ({ client }: Person): Promise<string[]> =>
  (await client.get('/conversations')).body.map(({ session }: { session: string }) => session);

test('conversations go on with the new owner, and no two of them become one', async () => {
  const [ann, bob] = [await person(), await person()];
  const { id: agent } = await registeredAgent(ann.client, { visibility: 'public' });
  const long = 'l'.repeat(200);
  for (const session of ['customer-1', 'test', long])
    await remembered(ann, { agent, session, text: 'of ann' });
  for (const session of ['test', long]) await remembered(bob, { agent, session, text: 'of bob' });
  expect(await transferred(ann, bob)).toMatchObject({ agents: 1, conversations: 3 });

  expect(await sessionsOf(ann)).toEqual([]);
  expect(await said(ann, { agent, session: 'customer-1' })).toBe(404);
  expect(await said(bob, { agent, session: 'customer-1' })).toEqual(['of ann']);
  for (const session of ['test', long]) expect(await said(bob, { agent, session })).toEqual(['of bob']);
  const renamed = (await sessionsOf(bob)).filter((name) => /_[0-9a-f-]{36}$/.test(name));
  expect(renamed.map((name) => [name.length <= 200, name.slice(0, 4)])).toEqual([
    [true, 'llll'],
    [true, 'test'],
  ]);
  for (const session of renamed) expect(await said(bob, { agent, session })).toEqual(['of ann']);
});

test('a run of the new owner continues a conversation that is still on its way', async () => {
  const [ann, bob] = [await person(), await person()];
  const { id: agent } = await registeredAgent(ann.client, { visibility: 'public' });
  const { run } = await started(ann);
  for (const session of ['here', 'both']) await remembered(ann, { agent, session, text: 'of ann' });
  await remembered(bob, { agent, session: 'both', text: 'of bob' });
  const { encryption, env } = app.app.deps;
  const actor = { id: boss.id, username: boss.username, roles: boss.roles, groups: [] };
  await fork().transactional(async (em) => {
    await beginTransfer(em, { encryption, limits: env }, actor, { from: ann.user.id, to: bob.user.id });
    // As if so many rows had been before them that the request did not come to the conversations.
    await em.execute('update chat_session set owner_id = ? where agent_id = ? and name <> ?', [
      ann.user.id,
      agent,
      'both',
    ]);
    await em.execute('update transfer set finished_at = null, step = 7 where from_id = ?', [ann.user.id]);
  });
  const history = (session: string) =>
    fork().transactional(async (em) =>
      (await holdSession(em, agent, session, { run_id: run, task: 'a', visit: 1 })).history.map(
        ({ text }) => text,
      ),
    );
  expect([await history('here'), await history('both')]).toEqual([['of ann'], ['of bob']]);
  await continueTransfers(fork, 60_000);
  expect(await said(bob, { agent, session: 'here' })).toEqual(['of ann']);
});

test('the new owner applies the sets of the former one, whose own set goes on without it', async () => {
  const [ann, bob] = [await person(), await person()];
  const agent = { ...agentBody({ name: 'scorer' }), kind: 'agent', configuration: { endpoint: URL } };
  const source = { kind: 'event_source', source: 'https://shop.example' };
  const apply = ({ client }: Person, resources: unknown[]) =>
    client.post('/apply', { set: 'shop', resources });
  expect((await apply(ann, [agent, source])).body.plan).toMatchObject([
    { action: 'create' },
    { action: 'create' },
  ]);
  expect((await apply(bob, [source])).status).toBe(200);
  await transferred(ann, bob);
  expect((await apply(bob, [{ ...agent, description: 'new' }, source])).body.plan).toMatchObject([
    { kind: 'agent', action: 'update' },
    { kind: 'event_source', action: 'unchanged' },
  ]);
  expect((await ann.client.get('/apply?set=shop')).body).toMatchObject([{ kind: 'event_source' }]);
});

test("chats of workflows go along, of groups and teams to their admins, and one's own stay", async () => {
  const [ann, bob] = [await person(), await person()];
  const { workflow } = await started(ann);
  const chat = async (client: Client, name: string, more: Record<string, unknown>): Promise<void> => {
    const given = { name, format: 'slack', url: 'https://hooks.example/secret', ...more };
    expect((await client.post('/notifications/channels', given)).status).toBe(201);
  };
  const chatsOf = async ({ client }: Person): Promise<string[]> =>
    (await client.get('/notifications/channels')).body.map(({ name }: { name: string }) => name);
  await chat(ann.client, 'own', {});
  await chat(ann.client, 'of the workflow', { workflow_id: workflow });
  await sql(
    `insert into notification_channel (id, owner_id, name, format, url_encrypted, group_name, kinds)
     select ?, owner_id, 'of a group', format, url_encrypted, 'finance', kinds from notification_channel
      where owner_id = ? and name = 'own'`,
    [uuidv7(), ann.user.id],
  );
  const teams: string[] = [];
  for (const name of ['choir', 'crew'])
    teams.push((await admin.post('/teams', { name, admin: ann.user.id })).body.id);
  const [choir = '', crew = ''] = teams;
  await chat(ann.client, 'of the choir', { team_id: choir });
  await chat(ann.client, 'of the crew', { team_id: crew });
  expect((await admin.put(`/teams/${choir}/members/${bob.user.id}`, { role: 'admin' })).status).toBe(201);
  expect((await admin.put(`/teams/${crew}/members/${bob.user.id}`, { role: 'builder' })).status).toBe(201);
  expect(await transferred(ann, bob)).toMatchObject({ workflows: 1, chats: 2 });
  expect(await chatsOf(bob)).toEqual(['of the workflow', 'of the choir']);
  expect(await chatsOf(ann)).toEqual(['own', 'of a group', 'of the choir', 'of the crew']);
  const leader = { user: await app.createUser({ roles: ['admin'] }), client: admin };
  expect(await transferred(ann, leader)).toMatchObject({ chats: 2 });
  // An admin of the teams sees their chats, whoever's they are.
  expect(await chatsOf(ann)).toEqual(['own', 'of the choir', 'of the crew']);
});
