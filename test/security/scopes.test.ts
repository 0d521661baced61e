/** Access tokens and their scopes, tried on every operation. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ScopedEndpoint } from '../../api/scopes.ts';
import { SCOPES } from '../../contracts/scopes.ts';
import { createAccessToken } from '../../domain/auth/access-tokens.ts';
import { agentBody } from '../support/agent-body.ts';
import { insertRun } from '../support/human-tasks.ts';
import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../support/app.ts';
import { createdWorkflow } from '../support/marketplace.ts';

let app: TestApp;
let endpoints: ScopedEndpoint[];
let admin: Client;

beforeAll(async () => {
  app = await startTestApp();
  // Those of `allEndpoints` all have a scope; the compiler sees to it.
  endpoints = app.app.endpoints.filter((one): one is ScopedEndpoint => one.scope !== undefined);
  admin = await app.as('admin');
});
afterAll(() => app.close());

const DAY_MS = 86_400_000;
const soon = () => new Date(Date.now() + DAY_MS);

async function tokenClient(scopes: string[], role: 'admin' | 'builder' = 'admin'): Promise<Client> {
  const user = await app.user(role);
  const { token } = await createAccessToken(app.orm.em.fork(), user, {
    name: 'test',
    scopes,
    expiresAt: soon(),
    maxDays: 365,
    secondFactorRoles: [],
    limits: app.env,
  });
  return createClient(app.url, token);
}

const anId = '00000000-0000-7000-8000-000000000001';
const call = (client: Client, { method, path }: ScopedEndpoint): Promise<Reply> =>
  client.request(method, `${path.replaceAll(/\{\w+\}/g, anId)}?colour=red`);

test('each operation has a scope, and each scope an operation', () => {
  const described = app.app.endpoints.filter(({ scope }) => scope === undefined);
  expect(described).toEqual([]);
  const used = new Set(endpoints.map(({ scope }) => scope));
  expect(SCOPES.filter((scope) => !used.has(scope))).toEqual([]);
});

/** Changes by viewers that an OAuth client with the rights of a viewer may make, too. */
const FREE_FOR_CLIENTS: Readonly<Record<string, string>> = {
  revokeToken: 'ends a token of its own',
  postUserInfo: 'reads only, by a form',
  deleteSession: 'ends the session of a cookie, which no client has',
  validateWorkflow: 'stores nothing, and sends no secrets',
};

test('each change that viewers may make says what an OAuth client needs for it', () => {
  const free = endpoints.filter(
    ({ method, role, scope, clientRole }) =>
      method !== 'GET' && role === 'viewer' && scope !== 'person' && clientRole === undefined,
  );
  expect(free.map(({ operationId }) => operationId).toSorted()).toEqual(
    Object.keys(FREE_FOR_CLIENTS).toSorted(),
  );
});

describe('a token', () => {
  test('may call what its scopes name, and nothing else', async () => {
    const wrong: string[] = [];
    const isRefused = ({ status, body }: Reply): boolean =>
      status === 403 && ['insufficient_scope', 'person_required'].includes(body?.code);
    const everything = await tokenClient([...SCOPES]);
    for (const scope of [...SCOPES, 'person'] as const) {
      const isScope = scope !== 'person';
      const having = isScope ? await tokenClient([...new Set([scope, 'admin'])]) : everything;
      const lacking = isScope ? await tokenClient(SCOPES.filter((one) => one !== scope)) : everything;
      for (const endpoint of endpoints.filter((one) => one.scope === scope)) {
        if (isScope && isRefused(await call(having, endpoint))) wrong.push(`${endpoint.operationId} with`);
        const refusal = await call(lacking, endpoint);
        const isForAdmins = endpoint.role === 'admin' && refusal.body?.code === 'role_required';
        if (!isRefused(refusal) && !isForAdmins) wrong.push(`${endpoint.operationId} without`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('is told which scope it lacks (RFC 6750 section 3.1)', async () => {
    const client = await tokenClient(['agents:read']);
    const { status, headers, body } = await client.get('/runs');
    expect([status, body.code, body.scope]).toEqual([403, 'insufficient_scope', 'runs:read']);
    expect(headers.get('www-authenticate')).toContain('error="insufficient_scope", scope="runs:read"');
  });

  test('of an admin sees no more than a builder without the scope admin', async () => {
    const owner = await app.createUser({ roles: ['builder'] });
    const { id } = await createdWorkflow(await app.as(owner), { do: [{ first: { set: { a: 1 } } }] });
    expect((await admin.get(`/workflows/${id}`)).status).toBe(200);
    expect((await (await tokenClient(['workflows:read'])).get(`/workflows/${id}`)).status).toBe(404);
    expect((await (await tokenClient(['workflows:read', 'admin'])).get(`/workflows/${id}`)).status).toBe(200);
  });

  test('of one workflow reads and runs that one, and its runs only', async () => {
    const builder = await app.as('builder');
    const definition = { do: [{ first: { set: { a: 1 } } }] };
    const [own, other] = [
      await createdWorkflow(builder, definition),
      await createdWorkflow(builder, definition),
    ];
    const client = await tokenClient([`workflow:${own.id}`], 'builder');
    const run = await client.post(`/workflows/${own.id}/run`, {});
    expect(run.status).toBe(201);
    const foreign = await insertRun(app.orm, { owner: (await app.user('builder')).id });
    const text = { headers: { 'content-type': 'text/plain' } };
    expect((await client.post(`/files?workflow=${own.id}`, 'x', text)).status).toBe(201);
    expect((await client.get(`/workflows/${own.id}`)).status).toBe(200);
    expect((await client.get(`/runs/${run.body.id}`)).status).toBe(200);
    expect((await client.get(`/runs?workflow_id=${own.id}`)).body).toHaveLength(1);
    const refused = [
      await client.get('/runs'),
      await client.get(`/runs?workflow_id=${other.id}`),
      await client.get(`/runs/${foreign}`),
      await client.get(`/workflows/${other.id}`),
      await client.post(`/workflows/${other.id}/run`, {}),
      await client.post(`/files?workflow=${other.id}`, 'x', text),
      await client.post('/files', 'x', text),
      await client.patch(`/workflows/${own.id}`, { name: 'mine' }),
      await client.delete(`/workflows/${own.id}`),
      await client.get('/agents'),
    ];
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
      refused.map(() => [403, 'insufficient_scope']),
    );
  });

  test('of one workflow may be about one that a team holds, or that its user may only start', async () => {
    const [member, runner] = [
      await app.createUser({ roles: ['viewer'] }),
      await app.createUser({ roles: ['viewer'] }),
    ];
    const team = (await admin.post('/teams', { name: 'payroll', admin: member.id })).body;
    const definition = { do: [{ first: { set: { a: 1 } } }] };
    const held = await createdWorkflow(await app.as(member), definition, { team_id: team.id });
    const runners = { users: [runner.username] };
    const granted = await createdWorkflow(await app.as('builder'), definition, { runners });
    for (const [who, { id }, other] of [
      [member, held, granted],
      [runner, granted, held],
    ] as const) {
      const own = await app.as(who);
      const make = (workflow: string) =>
        own.post('/users/me/tokens', {
          name: 'one',
          scopes: [`workflow:${workflow}`],
          expires_at: soon().toISOString(),
        });
      const made = await make(id);
      expect(made.status).toBe(201);
      const client = createClient(app.url, made.body.token);
      expect((await client.post(`/workflows/${id}/run`, {})).status).toBe(201);
      expect((await make(other.id)).status).toBe(422);
    }
  });

  test('opens the interfaces of other standards by its scopes only', async () => {
    const reader = await tokenClient(['agents:read', 'runs:read'], 'builder');
    expect((await reader.get('/v1/models')).status).toBe(200);
    const chat = await reader.post('/v1/chat/completions', { model: 'x', messages: [] });
    expect(chat.status).toBe(403);
    const runner = await tokenClient(['runs:write'], 'builder');
    expect((await runner.get('/v1/models')).status).toBe(403);
    const agent = (await (await app.as('builder')).post('/agents', agentBody())).body;
    const rpc = (client: Client, method: string, params: object) =>
      client.post(`/a2a/${agent.id}`, { jsonrpc: '2.0', id: 1, method, params });
    const message = { messageId: 'm', role: 'user', kind: 'message', parts: [{ kind: 'text', text: 'hi' }] };
    const sent = await rpc(reader, 'message/send', { message });
    expect(JSON.stringify(sent.body.error)).toContain('runs:write');
    const read = await rpc(runner, 'tasks/get', { id: anId });
    expect(JSON.stringify(read.body.error)).toContain('runs:read');
    const answer = await rpc(runner, 'message/send', { message: { ...message, taskId: anId } });
    expect(JSON.stringify(answer.body.error)).toContain('hitl:decide');
  });
});
