/** Rights that end while a body is on its way are over when it has arrived, in whatever protocol. */
import { request as send } from 'node:http';
import { connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { listenGrpc, type GrpcServer } from '../../api/a2a/grpc-server.ts';
import { IDENTIFIED_MS } from '../../api/middleware/identify-again.ts';
import { registeredAgent } from '../support/agent-body.ts';
import { createClient, startTestApp, type Client, type TestApp } from '../support/app.ts';
import { fromOwnPage, sessionCookie, withHeaders } from '../support/browser.ts';
import { grpcStatusOf } from '../support/grpc-status.ts';
import { startServer, type TestServer } from '../support/http-server.ts';
import { insertRun, insertTask } from '../support/human-tasks.ts';
import { authorize, redeem } from '../support/oauth-client.ts';
import { until } from '../support/platform.ts';

let app: TestApp;
let grpc: GrpcServer;
let admin: Client;
let source: TestServer;
/** Gives what lets the source of functions answer, once it was asked. */
const fetching = Promise.withResolvers<() => void>();

beforeAll(async () => {
  source = await startServer((_request, response) => {
    fetching.resolve(() => void response.writeHead(200).end('set: { n: 1 }'));
  });
  app = await startTestApp({
    env: { RATE_LIMIT_PER_MINUTE: '1000', EGRESS_HOST_MAP: `https://team.test=${source.url}` },
  });
  grpc = await listenGrpc(app.app.deps, { host: '127.0.0.1', port: 0 });
  admin = await app.as('admin');
});
afterAll(async () => {
  await grpc.stop(1_000);
  await app.close();
  await source.close();
});

/** Of a request of which half of the body is sent. @returns its status, once the rest has been sent too */
type Finish = () => Promise<number | string>;

interface Slow {
  method?: string;
  path: string;
  token: string;
  body: object | string;
  headers?: Record<string, string>;
}

function begin({ method = 'POST', path, token, body, headers = {} }: Slow): Finish {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const half = Math.floor(bytes.length / 2);
  const request = send(app.url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': bytes.length,
      ...headers,
    },
  });
  const answered = new Promise<number>((resolve, reject) => {
    request.on('error', reject).on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
  });
  request.write(bytes.subarray(0, half));
  return () => {
    request.end(bytes.subarray(half));
    return answered;
  };
}

/** Calls a method with an empty message, whose length comes first. */
function beginGrpc(token: string): Finish {
  const session = connect(`http://127.0.0.1:${grpc.port}`);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/lf.a2a.v1.A2AService/SendMessage',
    'content-type': 'application/grpc',
    te: 'trailers',
    'a2a-version': '1.0',
    authorization: `Bearer ${token}`,
  });
  const status = grpcStatusOf(stream);
  stream.resume();
  stream.write(Buffer.alloc(2));
  return async () => {
    stream.end(Buffer.alloc(3));
    const code = await status;
    session.destroy();
    return code;
  };
}

/** What this process has counted for a caller: each request is, once its caller is identified. */
async function requestsOf(callerId: string): Promise<number> {
  const [row] = await app.orm.em
    .fork()
    .execute<{ n: number }[]>(
      'select coalesce(sum(requests), 0)::int as n from request_count where user_id = ?',
      [callerId],
    );
  return row?.n ?? 0;
}

/** Lets the requests of a caller wait for their bodies longer than their identification counts. */
async function held(callerId: string, begun: () => Finish[]): Promise<Finish[]> {
  const before = await requestsOf(callerId);
  const requests = begun();
  await until(
    () => requestsOf(callerId),
    (count) => count === before + requests.length,
  );
  await sleep(IDENTIFIED_MS + 10);
  return requests;
}

const finishAll = (requests: readonly Finish[]) => Promise.all(requests.map((finish) => finish()));

const forMcp = { accept: 'application/json, text/event-stream' };
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });

/** Requests whose answers need no Temporal. */
async function plainRequests(token: string): Promise<() => Finish[]> {
  const run = await insertRun(app.orm, { owner: (await app.createUser()).id });
  const task = await insertTask(app.orm, run);
  return () => [
    begin({ path: '/workflows', token, body: { name: 'w', definition: { do: [] } } }),
    begin({ path: `/hitl/tasks/${task}/decision`, token, body: { decision: 'approve' } }),
    begin({
      path: '/events',
      token,
      body: { specversion: '1.0', id: '1', source: 'urn:till', type: 'a.b' },
      headers: { 'content-type': 'application/cloudevents+json' },
    }),
    begin({ path: '/files?name=a.txt', token, body: 'text', headers: { 'content-type': 'text/plain' } }),
    begin({ path: '/mcp', token, body: rpc('tools/list', {}), headers: forMcp }),
  ];
}

async function otherRequests(token: string): Promise<() => Finish[]> {
  const agent = await registeredAgent(await app.as('builder'), { visibility: 'public' });
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hello' }] };
  return () => [
    begin({
      path: `/a2a/${agent.id}/message:send`,
      token,
      body: { message },
      headers: { 'a2a-version': '1.0' },
    }),
    begin({ path: '/v1/chat/completions', token, body: { model: 'nothing', messages: [] } }),
    beginGrpc(token),
  ];
}

test('a disabled user is refused in every protocol, although the requests began before', async () => {
  const leaver = await app.createUser({ roles: ['builder'] });
  const plain = await plainRequests(leaver.token);
  const others = await otherRequests(leaver.token);
  const requests = await held(leaver.id, () => [...plain(), ...others()]);
  expect((await admin.patch(`/users/${leaver.id}`, { status: 'disabled' })).status).toBe(200);
  expect(await finishAll(requests)).toEqual([401, 401, 401, 401, 401, 401, 401, '16']);
});

test('whoever keeps the rights is served, however slow the body is', async () => {
  const user = await app.createUser({ roles: ['builder'] });
  const requests = await held(user.id, await plainRequests(user.token));
  expect(await finishAll(requests)).toEqual([201, 200, 202, 201, 200]);
});

test('a role that ends meanwhile is over', async () => {
  const former = await app.createUser({ roles: ['admin'] });
  const requests = await held(former.id, () => [
    begin({
      method: 'PATCH',
      path: `/users/${former.id}`,
      token: former.token,
      body: { display_name: 'Still an admin' },
    }),
    begin({ path: '/files?name=a.txt', token: former.token, body: 'text' }),
    begin({ path: '/v1/chat/completions', token: former.token, body: { model: 'm', messages: [] } }),
  ]);
  expect((await admin.patch(`/users/${former.id}`, { roles: ['approver'] })).status).toBe(200);
  expect(await finishAll(requests)).toEqual([403, 403, 403]);
  expect((await admin.get(`/users/${former.id}`)).body.display_name).not.toBe('Still an admin');
});

test('a task that somebody may not decide any more takes no file from them', async () => {
  const [owner, approver] = [await app.createUser(), await app.createUser({ roles: ['approver'] })];
  const task = await insertTask(app.orm, await insertRun(app.orm, { owner: owner.id }), {
    candidates: { users: [], roles: [], groups: ['finance'] },
  });
  await admin.patch(`/users/${approver.id}`, { groups: ['finance'] });
  const path = `/files?name=a.txt&human_task=${task}`;
  const requests = await held(approver.id, () => [begin({ path, token: approver.token, body: 'text' })]);
  await admin.patch(`/users/${approver.id}`, { groups: [] });
  expect(await finishAll(requests)).toEqual([404]);
});

test('rights that end while a definition waits for what it takes from elsewhere are over', async () => {
  const leaver = await app.createUser({ roles: ['builder'] });
  const definition = { do: [{ a: { call: 'https://team.test/f.yaml', with: {} } }] };
  const finish = begin({ path: '/workflows', token: leaver.token, body: { name: 'w', definition } });
  const answered = finish();
  const answer = await fetching.promise;
  await sleep(IDENTIFIED_MS + 10);
  expect((await admin.patch(`/users/${leaver.id}`, { status: 'disabled' })).status).toBe(200);
  answer();
  expect(await answered).toBe(401);
});

test('tokens of workers and of provisioning that are deleted meanwhile are over', async () => {
  const owner = await app.as(await app.createUser({ roles: ['builder'] }));
  const agent = await registeredAgent(owner, { execution_type: 'edge' });
  const worker = (await owner.post(`/agents/${agent.id}/worker-tokens`, { name: 'w' })).body;
  const issuer = await admin.post('/identity-issuers', {
    name: 'corp',
    title: 'Corp',
    issuer: 'https://corp.example',
    client_id: 'cadenza',
    client_secret: 'a secret',
  });
  const tokens = `/identity-issuers/${issuer.body.id}/scim-tokens`;
  const scim = (await admin.post(tokens, { name: 'sync' })).body;
  const user = { schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'], userName: 'eve' };
  const [provisioning = null] = await held(scim.id, () => [
    begin({ path: '/scim/v2/Users', token: scim.token, body: user }),
  ]);
  const [beating = null] = await held(worker.id, () => [
    begin({ path: `/jobs/${agent.id}/heartbeat`, token: worker.token, body: { progress: {} } }),
  ]);
  expect((await admin.delete(`${tokens}/${scim.id}`)).status).toBe(204);
  expect((await owner.delete(`/agents/${agent.id}/worker-tokens/${worker.id}`)).status).toBe(204);
  expect([await provisioning?.(), await beating?.()]).toEqual([401, 401]);
});

test('an OAuth client may do after a slow body what it may otherwise', async () => {
  const user = await app.createUser({ roles: ['approver'] });
  const page = withHeaders(createClient(app.url), { ...fromOwnPage, cookie: await sessionCookie(app, user) });
  const flow = await authorize(app, page, { scope: 'approver hitl:decide' });
  const token: string = (await redeem(app, flow)).body.access_token;
  const task = await insertTask(app.orm, await insertRun(app.orm, { owner: user.id }));
  const decide = { name: 'decide_human_task', arguments: { task_id: task, decision: 'approve' } };
  const requests = await held(user.id, () => [
    begin({
      path: '/mcp',
      token,
      body: rpc('tools/call', decide),
      headers: forMcp,
    }),
  ]);
  expect(await finishAll(requests)).toEqual([200]);
  const decided = await (await app.as(user)).get(`/hitl/tasks/${task}`);
  expect(decided.body).toMatchObject({ status: 'decided' });
});
