/**
 * Streams and waiting calls of somebody who leaves the team meanwhile: nothing of the team comes any more,
 * and no more of the person's own runs than runners see (docs/teams.md).
 */
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { credentials, makeGenericClientConstructor, Metadata, type ServiceError } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { listenGrpc, type GrpcServer } from '../../api/a2a/grpc-server.ts';
import { EVENT, type RunProjection, type WaitingOn } from '../../contracts/run-events.ts';
import { appendEvents, serviceEvent } from '../../domain/runs/events.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../support/app.ts';
import { endRun, insertTask } from '../support/human-tasks.ts';
import { connectMcp } from '../support/mcp-client.ts';
import { until } from '../support/platform.ts';
import { openStream, type SseReader } from '../support/sse-client.ts';

const V1 = { 'A2A-Version': '1.0' };
const TASK_NOT_FOUND = -32001;
const DEFINITION = { do: [{ a: { wait: { hours: 1 } } }] };
const SECRET = 'secret-of-the-team';

let app: TestApp;
let admin: Client;
let grpc: GrpcServer;
let team: string;
let count = 0;

beforeAll(async () => {
  app = await startTestApp();
  const boss = await app.createUser({ username: 'boss', roles: ['admin'] });
  admin = await app.as(boss);
  team = (await admin.post('/teams', { name: 'payers', admin: boss.id })).body.id;
  grpc = await listenGrpc(app.app.deps, { host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await grpc.stop(1_000);
  await app.close();
});

interface Person {
  user: TestUser;
  client: Client;
}

async function member(): Promise<Person> {
  count += 1;
  const user = await app.createUser({ username: `member-${count}`, roles: ['builder'] });
  expect((await admin.put(`/teams/${team}/members/${user.id}`, { role: 'builder' })).status).toBe(201);
  return { user, client: await app.as(user) };
}

async function leave({ user }: Person): Promise<void> {
  expect((await admin.delete(`/teams/${team}/members/${user.id}`)).status).toBe(204);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
}

/** An agent of the team that runs a private workflow of the team. */
async function agent(visibility: 'private' | 'public'): Promise<string> {
  count += 1;
  const workflow = await admin.post('/workflows', {
    name: `waits-${count}`,
    team_id: team,
    definition: DEFINITION,
  });
  const { status, body } = await admin.post('/agents', {
    name: `agent-${count}`,
    team_id: team,
    type: 'workflow',
    version: '1.0.0',
    visibility,
    configuration: { workflow_id: workflow.body.id },
    capabilities_streaming: true,
  });
  expect(status).toBe(201);
  return body.id;
}

const bearer = ({ user }: Person) => ({ authorization: `Bearer ${user.token}` });
const json = { 'content-type': 'application/json' };
const message = () => ({ messageId: uuidv7(), role: 'ROLE_USER', parts: [{ text: 'x' }] });
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });

async function send({ client }: Person, agentId: string): Promise<string> {
  const params = { message: message(), configuration: { returnImmediately: true } };
  const { body } = await client.post(`/api/v1/a2a/${agentId}`, rpc('SendMessage', params), { headers: V1 });
  return body.result.task.id;
}

async function subscribe(who: Person, agentId: string, id: string): Promise<SseReader> {
  const stream = await openStream(`${app.url}/api/v1/a2a/${agentId}`, {
    method: 'POST',
    headers: { ...bearer(who), ...json, ...V1 },
    body: JSON.stringify(rpc('SubscribeToTask', { id })),
  });
  await until(
    async () => stream.events.length,
    (length) => length > 0,
  );
  return stream;
}

/** The run starts a step, and asks the team. @returns the id of the human task */
async function goOn(runId: string, given: object = { candidates: ofTeam() }): Promise<string> {
  const task = await insertTask(app.orm, runId, { title: SECRET, subject: { salary: SECRET }, ...given });
  const waiting: WaitingOn[] = [{ kind: 'human', task: '/do/0/a', id: task }];
  const event = (type: string, data: object) =>
    serviceEvent({ key: uuidv7(), type, task: '/do/0/a', message: SECRET, data: { ...data } });
  await append(runId, { status: 'waiting', waiting_on: waiting }, [
    event(EVENT.taskStarted, { name: SECRET }),
    event(EVENT.runInputRequired, { tasks: [task] }),
  ]);
  return task;
}

const ofTeam = () => ({ users: [], roles: [], groups: [], teams: [team] });
let counter = 0;
async function append(
  runId: string,
  given: Partial<RunProjection>,
  events: Parameters<typeof appendEvents>[2]['events'] = [],
): Promise<void> {
  counter += 1;
  const { waiting_on: waits = [] } = given;
  const projection = { counter, status: 'running', waiting_on: waits, waiting_count: waits.length, ...given };
  await appendEvents(app.orm.em.fork(), runId, {
    events,
    projection: projection as RunProjection,
    acks: [],
  });
}

async function fail(runId: string): Promise<void> {
  const type = 'https://serverlessworkflow.io/spec/1.0.0/errors/validation';
  const error = { type, status: 400, title: 'Refused', detail: SECRET };
  await endRun(app.orm, runId, { status: 'faulted', error }, SECRET);
}

const textOf = ({ events }: SseReader): string => JSON.stringify(events);

test('a subscription to a task of A2A ends with the membership, before anything else comes', async () => {
  const who = await member();
  const agentId = await agent('private');
  const id = await send(who, agentId);
  const stream = await subscribe(who, agentId, id);
  await leave(who);
  await goOn(id);
  await stream.ended;
  expect(textOf(stream)).not.toContain(SECRET);
  expect(stream.events.at(-1)?.data.error?.code).toBe(TASK_NOT_FOUND);
});

test('it ends, too, if nothing happens', async () => {
  const who = await member();
  const agentId = await agent('private');
  const stream = await subscribe(who, agentId, await send(who, agentId));
  await leave(who);
  await stream.ended;
  expect(stream.events.at(-1)?.data.error?.code).toBe(TASK_NOT_FOUND);
});

test('a call of A2A that waits ends', async () => {
  const who = await member();
  const agentId = await agent('private');
  const waiting = who.client.post(`/api/v1/a2a/${agentId}`, rpc('SendMessage', { message: message() }), {
    headers: V1,
  });
  const find = () =>
    app.orm.em.fork().execute<{ id: string }[]>('select id from a2a_task where agent_id = ?', [agentId]);
  const [task] = await until(find, (rows) => rows.length > 0);
  await leave(who);
  await goOn(task?.id ?? '');
  const { body } = await waiting;
  expect(JSON.stringify(body)).not.toContain(SECRET);
  expect(body.error?.code).toBe(TASK_NOT_FOUND);
});

test('a subscription over gRPC ends', async () => {
  const who = await member();
  const agentId = await agent('private');
  const id = await send(who, agentId);
  const { path, requestSerialize, responseDeserialize } = A2AService.subscribeToTask;
  const client = new (makeGenericClientConstructor({}, 'raw'))(
    `127.0.0.1:${grpc.port}`,
    credentials.createInsecure(),
  );
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${who.user.token}`);
  metadata.set('a2a-version', '1.0');
  const stream = client.makeServerStreamRequest(
    path,
    requestSerialize as (value: unknown) => Buffer,
    responseDeserialize,
    { tenant: agentId, id },
    metadata,
  );
  const seen: unknown[] = [];
  stream.on('data', (value: unknown) => seen.push(value));
  const ended = new Promise<ServiceError>((resolve) => stream.on('error', resolve));
  await until(
    async () => seen.length,
    (length) => length > 0,
  );
  await leave(who);
  await goOn(id);
  expect((await ended).details).toContain('Task not found');
  expect(JSON.stringify(seen)).not.toContain(SECRET);
  client.close();
});

test('who still sees the agent has of the task what runners see', async () => {
  const who = await member();
  const agentId = await agent('public');
  const id = await send(who, agentId);
  const stream = await subscribe(who, agentId, id);
  await leave(who);
  await goOn(id);
  const task = async () =>
    (await who.client.post(`/api/v1/a2a/${agentId}`, rpc('GetTask', { id }), { headers: V1 })).body.result;
  await until(
    async () => textOf(stream),
    (text) => text.includes('INPUT_REQUIRED'),
  );
  expect(await task()).toMatchObject({ status: { state: 'TASK_STATE_INPUT_REQUIRED' } });
  // A question for the person is shown, and no other.
  const mine = { title: 'For you', candidates: { ...ofTeam(), teams: [], users: [who.user.id] } };
  await goOn(id, { ...mine, subject: null });
  await until(
    async () => textOf(stream),
    (text) => text.includes('For you'),
  );
  expect(JSON.stringify(await task())).toContain('For you');
  await fail(id);
  await stream.ended;
  expect(textOf(stream)).not.toContain(SECRET);
  expect(JSON.stringify(await task())).not.toContain(SECRET);
  expect((await task()).status).toMatchObject({ state: 'TASK_STATE_FAILED' });
});

test('a member goes on to see all of it', async () => {
  const who = await member();
  const agentId = await agent('public');
  const id = await send(who, agentId);
  const stream = await subscribe(who, agentId, id);
  await goOn(id);
  const text = await until(
    async () => textOf(stream),
    (text) => text.includes(`"step":"${SECRET}"`) && text.includes(`"salary":"${SECRET}"`),
  );
  expect(text).not.toContain('error');
  stream.drop();
  await stream.ended;
});

test('a chat of a former member has nothing of the inside', async () => {
  const who = await member();
  const model = await agent('public');
  const chat = (stream: boolean): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...bearer(who), ...json },
      body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'hi' }] }),
    });
  const [streamed, whole] = [await chat(true), chat(false)];
  const runs = () =>
    app.orm.em.fork().execute<{ id: string }[]>('select id from run where owner_id = ?', [who.user.id]);
  const started = await until(runs, (rows) => rows.length === 2);
  await leave(who);
  for (const { id } of started) {
    await goOn(id);
    await fail(id);
  }
  for (const text of [await streamed.text(), await (await whole).text()]) {
    expect(text).toContain('Refused');
    expect(text).not.toContain(SECRET);
  }
});

test('a request that waits for the end of a run has nothing of the inside', async () => {
  const who = await member();
  const id = await send(who, await agent('public'));
  const waiting = who.client.get(`/runs/${id}`, { headers: { prefer: 'wait=50' } });
  await new Promise((resolve) => setTimeout(resolve, 200));
  await leave(who);
  await goOn(id);
  await fail(id);
  const { status, body } = await waiting;
  expect([status, body.status, body.error.title, body.tasks, body.logs]).toEqual([
    200,
    'faulted',
    'Refused',
    [],
    [],
  ]);
  expect(JSON.stringify(body)).not.toContain(SECRET);
});

test('a waiting tool of MCP of a former member has nothing of the inside', async () => {
  const who = await member();
  const id = await send(who, await agent('public'));
  const { client, close } = await connectMcp(app.url, who.user.token);
  const progress: unknown[] = [];
  const waiting = client.callTool(
    { name: 'get_run', arguments: { run_id: id, wait_seconds: 50 } },
    { onprogress: (given) => progress.push(given) },
  );
  await until(
    async () =>
      app.orm.em.fork().execute<object[]>('select from open_stream where user_id = ?', [who.user.id]),
    ({ length }) => length > 0,
  );
  await leave(who);
  await goOn(id);
  await fail(id);
  const result = JSON.stringify([await waiting, progress]);
  expect(result).toContain('Refused');
  expect(result).not.toContain(SECRET);
  await close();
});
