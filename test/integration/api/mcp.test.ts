/** MCP and OpenAI's API without runs: OAuth log-in, tools by rights, decisions, bad input. */
import { request } from 'node:http';
import {
  Client as McpClient,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import { invocationKey, toHeader } from '../../../contracts/invocation-key.ts';
import { noteProtocolCall } from '../../../domain/runs/protocol-calls.ts';
import { registeredAgent } from '../../support/agent-body.ts';
import { createClient, startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { fromOwnPage, sessionCookie, withHeaders } from '../../support/browser.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { recordStatements } from '../../support/statements.ts';
import { connectMcp } from '../../support/mcp-client.ts';
import { until } from '../../support/platform.ts';
import { authorize, comesBack, hiddenFields, postForm, redeem } from '../../support/oauth-client.ts';

let app: TestApp;
let ann: TestUser;
let page: Client;

beforeAll(async () => {
  app = await startTestApp({ env: { OAUTH_CLIENTS_PER_ADDRESS: '1000' } });
  ann = await app.createUser({ username: 'ann', roles: ['builder'] });
  page = withHeaders(createClient(app.url), { ...fromOwnPage, cookie: await sessionCookie(app, ann) });
});
afterAll(() => app.close());

const mcpUrl = (): string => `${app.env.BASE_URL}/mcp`;
/** A token of an OAuth client for the MCP server. */
async function toolToken(scope: string): Promise<string> {
  const flow = await authorize(app, page, { resource: mcpUrl(), scope });
  return (await redeem(app, flow, { resource: mcpUrl() })).body.access_token;
}
const post = (body: unknown, headers: Record<string, string> = {}, signal: AbortSignal | null = null) =>
  fetch(mcpUrl(), {
    method: 'POST',
    signal,
    headers: {
      authorization: `Bearer ${ann.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
/** Of a ping with these headers, which `fetch` would replace. */
const statusOf = (headers: Record<string, string>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const all = {
      authorization: `Bearer ${ann.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    };
    request(`${app.url}/mcp`, { method: 'POST', headers: all }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end(JSON.stringify(ping));
  });
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

test('the official client finds the log-in by itself, and its token is for the tools only', async () => {
  let sentTo: URL | undefined;
  const kept: {
    verifier?: string;
    tokens?: StoredOAuthTokens;
    client?: object;
    discovery?: OAuthDiscoveryState;
  } = {};
  const provider: OAuthClientProvider = {
    redirectUrl: 'http://127.0.0.1/callback',
    clientMetadata: {
      client_name: 'Tools',
      redirect_uris: ['http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => kept.client as ReturnType<OAuthClientProvider['clientInformation']>,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization: (url) => void (sentTo = url),
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (state) => void (kept.discovery = state),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier ?? '',
  };
  const first = new StreamableHTTPClientTransport(new URL(mcpUrl()), { authProvider: provider });
  await expect(new McpClient({ name: 't', version: '1' }).connect(first)).rejects.toThrow(UnauthorizedError);
  expect(sentTo?.searchParams.get('resource')).toBe(mcpUrl());
  expect(sentTo?.searchParams.get('scope')).toBe('viewer builder');
  const shown = await page.get(`${sentTo?.pathname}${sentTo?.search}`);
  expect(shown.body).toContain('run the agents and workflows that you may use');
  const fields = { ...hiddenFields(shown.body), action: 'approve' };
  const { code = '', iss } = comesBack(await postForm(page, '/auth/authorize', fields));
  await first.finishAuth(code, iss);
  const client = new McpClient({ name: 't', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl()), { authProvider: provider }));
  expect((await client.listTools()).tools.length).toBeGreaterThan(3);
  await client.close();
  const elsewhere = createClient(app.url, kept.tokens?.access_token);
  // Asked twice: the API remembers callers for a moment.
  for (const path of ['/users/me', '/agents', '/v1/models', '/users/me'])
    expect((await elsewhere.get(path)).status).toBe(401);
  const refreshed = await postForm(app.anonymous, '/auth/token', {
    grant_type: 'refresh_token',
    refresh_token: kept.tokens?.refresh_token ?? '',
    client_id: (kept.client as { client_id: string }).client_id,
    resource: mcpUrl(),
  });
  expect(refreshed.status).toBe(200);
  expect((await createClient(app.url, refreshed.body.access_token).get('/users/me')).status).toBe(401);
});

test('a token for the MCP server in another spelling is for the tools only, too', async () => {
  for (const resource of [`${mcpUrl()}/`, `${mcpUrl()}?a=b`]) {
    const flow = await authorize(app, page, { resource, scope: 'builder' });
    const token = (await redeem(app, flow, { resource })).body.access_token;
    expect((await createClient(app.url, token).get('/users/me')).status).toBe(401);
    expect((await post(ping, { authorization: `Bearer ${token}` })).status).toBe(200);
  }
});

test('without a token the answer leads to the metadata of the resource', async () => {
  const reply = await app.anonymous.post('/mcp', ping);
  const where = `${app.env.BASE_URL}/.well-known/oauth-protected-resource/mcp`;
  expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([
    401,
    `Bearer realm="cadenza", resource_metadata="${where}"`,
  ]);
  expect((await app.anonymous.get('/.well-known/oauth-protected-resource/mcp')).body).toMatchObject({
    resource: mcpUrl(),
    authorization_servers: [app.env.BASE_URL],
    scopes_supported: ['viewer', 'builder'],
  });
  const server = (await app.anonymous.get('/.well-known/oauth-authorization-server')).body;
  expect(server.scopes_supported).not.toContain('hitl:decide');
});

test('tools are what the caller may run, page by page, under names that outlive renaming', async () => {
  const client = await app.as(ann);
  const other = await app.as(await app.createUser());
  const names = Array.from({ length: 120 }, (_, index) => `Agent ${index} — für Übersetzung & mehr!`);
  for (const name of names) await registeredAgent(client, { name });
  const hidden = await registeredAgent(other, { name: 'hidden' });
  const schema = { $defs: { n: { type: 'number' } }, type: 'array', items: { $ref: '#/$defs/n' } };
  const odd = await registeredAgent(client, { name: '…', input_schema: schema, output_schema: schema });
  const mcp = await connectMcp(app.env.BASE_URL, ann.token);
  const { tools } = await mcp.client.listTools();
  expect(tools.length).toBeGreaterThan(120);
  expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
  expect(tools.filter(({ name }) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name))).toEqual([]);
  expect(tools.some(({ title }) => title === 'hidden')).toBe(false);
  const tool = tools.find(({ title }) => title === '…');
  expect(tool).toMatchObject({
    name: `agent-a${odd.id.slice(-12)}`,
    inputSchema: {
      type: 'object',
      properties: { input: { type: 'array', items: { $ref: '#/properties/input/$defs/n' } } },
      required: ['input'],
    },
    outputSchema: { properties: { output: { items: { $ref: '#/properties/output/$defs/n' } } } },
  });
  const wrong = await mcp.client.callTool({ name: tool?.name ?? '', arguments: { input: ['x'] } });
  expect(wrong).toMatchObject({ isError: true });
  expect(JSON.stringify(wrong.content)).toContain('input_schema');
  for (const name of [`hidden-a${hidden.id.slice(-12)}`, 'decide_human_task', 'nothing', '__proto__'])
    await expect(mcp.client.callTool({ name, arguments: {} })).rejects.toThrow('Unknown tool');
  await mcp.close();
  const viewer = await connectMcp(app.env.BASE_URL, (await app.user('viewer')).token);
  expect((await viewer.client.listTools()).tools.map(({ name }) => name).toSorted()).toEqual([
    'get_human_task',
    'get_run',
    'list_human_tasks',
  ]);
  await viewer.close();
});

describe('human tasks', () => {
  test('are decided only with the scope, which the page names', async () => {
    const runId = await insertRun(app.orm, { owner: (await app.user('admin')).id });
    const taskId = await insertTask(app.orm, runId);
    const without = await connectMcp(app.env.BASE_URL, await toolToken('builder'));
    const { tools } = await without.client.listTools();
    expect(tools.some(({ name }) => name === 'decide_human_task')).toBe(false);
    const listed = await without.client.callTool({ name: 'list_human_tasks', arguments: {} });
    expect(JSON.stringify(listed.structuredContent)).toContain(taskId);
    await without.close();
    const mcp = await connectMcp(app.env.BASE_URL, await toolToken('builder hitl:decide'));
    const decision = { task_id: taskId, decision: 'approve', comment: 'The person said so.' };
    const statements = await recordStatements(app.orm);
    const decided = await mcp.client.callTool({ name: 'decide_human_task', arguments: decision });
    expect(decided.structuredContent).toMatchObject({ task: { status: 'decided' } });
    const deciding = statements.filter((sql) => /decide_at_once|lock_human_task/.test(sql));
    expect(deciding).toEqual([expect.stringContaining('decide_at_once')]);
    const quorum = { approvals: 2, rejections: 2, exclude_initiator: false };
    const voted = await mcp.client.callTool({
      name: 'decide_human_task',
      arguments: { task_id: await insertTask(app.orm, runId, { quorum }), decision: 'approve' },
    });
    // A vote that leaves the task open has nothing to deliver.
    expect(voted.structuredContent).toMatchObject({
      task: { status: 'open' },
      decision: { delivered: null },
    });
    const admin = await app.as('admin');
    const entries = await admin.get(`/audit?action=decideHumanTask&object_id=${taskId}`);
    expect(entries.body).toMatchObject([{ via: 'mcp', changes: { decision: { new: 'approve' } } }]);
    expect((await admin.get(`/hitl/tasks/${taskId}/audit`)).body.at(-1)).toMatchObject({ via: 'mcp' });
    await mcp.close();
  });

  test('are listed and decided by the deputy of an absent person, too', async () => {
    const absent = await app.createUser({ username: 'absent', roles: ['approver'] });
    const runId = await insertRun(app.orm, { owner: (await app.user('admin')).id });
    const candidates = { users: ['absent'], roles: [], groups: [] };
    const taskId = await insertTask(app.orm, runId, { candidates });
    const mcp = await connectMcp(app.env.BASE_URL, await toolToken('builder hitl:decide'));
    const listed = async (): Promise<boolean> => {
      const { structuredContent } = await mcp.client.callTool({ name: 'list_human_tasks', arguments: {} });
      return JSON.stringify(structuredContent).includes(taskId);
    };
    expect(await listed()).toBe(false);
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const away = await (await app.as(absent)).post('/absences', { deputy: ann.username, until });
    expect(away.status).toBe(201);
    expect(await listed()).toBe(true);
    const decision = { task_id: taskId, decision: 'approve' };
    const decided = await mcp.client.callTool({ name: 'decide_human_task', arguments: decision });
    expect(decided.structuredContent).toMatchObject({ task: { status: 'decided' } });
    await mcp.close();
  });

  test('of runs that a model has begun, and of the caller’s own chain, are decided elsewhere', async () => {
    const token = await toolToken('builder hitl:decide');
    const begun = await insertRun(app.orm, { owner: ann.id });
    const note = { id: uuidv7(), protocol: 'openai' as const, run_id: begun, user_id: ann.id };
    const repeat = { idempotency_key: null, request_digest: null };
    const rest = { session_id: null, request_id: null, progress_token: null };
    await noteProtocolCall(app.orm.em.fork(), { ...note, ...rest, ...repeat });
    const child = await insertRun(app.orm, { owner: ann.id, parent: begun });
    const calling = await insertRun(app.orm, { owner: ann.id });
    const called = await insertRun(app.orm, { owner: ann.id });
    const em = app.orm.em.fork();
    await em.execute('update run set caller_run_id = ? where id = ?', [calling, called]);
    const key = invocationKey(calling, { task: '/do/0/tools', name: 'tools', visit: 1, attempt: 1 });
    await em.execute('insert into invocation (run_id, key) values (?, ?)', [calling, key]);
    const emitted = uuidv7();
    await em.execute(
      `insert into inbound_event (id, owner_id, source, event_id, type, event, run_id)
       values (?, ?, 'runs', '1', 'done', '{}', ?)`,
      [emitted, ann.id, begun],
    );
    const started = await insertRun(app.orm, { owner: ann.id });
    await em.execute('update run set started_by = array[?::uuid] where id = ?', [emitted, started]);
    const other = await insertRun(app.orm, { owner: ann.id });
    // As a step of the run `calling` sends it.
    const mcp = await connectMcp(app.env.BASE_URL, token, { headers: { 'Idempotency-Key': toHeader(key) } });
    for (const runId of [begun, child, calling, called, started]) {
      const taskId = await insertTask(app.orm, runId);
      const refused = await mcp.client.callTool({
        name: 'decide_human_task',
        arguments: { task_id: taskId, decision: 'approve' },
      });
      expect(refused).toMatchObject({ isError: true });
      expect(JSON.stringify(refused.content)).toContain('decides this task elsewhere');
      expect((await (await app.as(ann)).get(`/hitl/tasks/${taskId}`)).body.status).toBe('open');
    }
    const allowed = await mcp.client.callTool({
      name: 'decide_human_task',
      arguments: { task_id: await insertTask(app.orm, other), decision: 'approve' },
    });
    expect(allowed).toMatchObject({ structuredContent: { task: { status: 'decided' } } });
    await mcp.close();
  });
});

describe('bad requests', () => {
  test('are refused in the shape of JSON-RPC', async () => {
    const codes: unknown[] = [];
    for (const body of [
      '{"jsonrpc":',
      Array.from({ length: 5_000 }, () => ping),
      `${'['.repeat(100)}${']'.repeat(100)}`,
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_run' } },
      { jsonrpc: '2.0', id: 1, method: 'no/such' },
      { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { cursor: 'x' } },
    ]) {
      const response = await post(body);
      const text = await response.text();
      const json = JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text);
      codes.push([response.status, json.error?.code ?? json.result?.isError]);
    }
    expect(codes).toEqual([
      [400, -32700],
      [400, -32600],
      [400, -32000],
      [200, true],
      [200, -32601],
      [200, -32602],
    ]);
  });

  test('of foreign pages, unknown versions, sessions and methods are refused', async () => {
    const statuses: number[] = [];
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'mcp-protocol-version': '1999-01-01' },
      { 'mcp-session-id': 'no-uuid' },
      { 'content-type': 'text/plain' },
      { authorization: 'Bearer no.token.here' },
    ])
      statuses.push((await post(ping, headers as Record<string, string>)).status);
    expect(statuses).toEqual([403, 403, 400, 404, 415, 401]);
    const client = await app.as(ann);
    expect((await client.get('/mcp')).status).toBe(405);
    expect((await client.get('/mcp', { headers: { 'last-event-id': 'x' } })).status).toBe(400);
    expect((await client.get('/mcp', { headers: { 'last-event-id': `${uuidv7()}_1` } })).status).toBe(404);
    const late = { 'last-event-id': `${uuidv7()}_999999999999` };
    expect((await client.get('/mcp', { headers: late })).status).toBe(400);
    expect((await client.get('/api/v1/mcp')).status).toBe(404);
  });

  test('for another host are refused, but not for an address or a name of the local network', async () => {
    const { port } = new URL(app.url);
    const answers: unknown[] = [];
    for (const host of [
      `evil.example:${port}`,
      '[',
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      'api',
      'a.localhost.',
    ])
      answers.push(await statusOf({ host }));
    expect(answers).toEqual([403, 403, 200, 200, 200, 200]);
  });

  test('that are cancelled before they begin start no run', async () => {
    const { id } = await registeredAgent(await app.as(ann), { name: 'overtaken' });
    const session = { 'mcp-session-id': uuidv7(), 'mcp-protocol-version': '2025-11-25' };
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c1' } };
    expect((await post(cancelled, session)).status).toBe(202);
    const params = { name: `overtaken-a${id.slice(-12)}`, arguments: {} };
    const call = { jsonrpc: '2.0', id: 'c1', method: 'tools/call', params };
    expect(await (await post(call, session)).text()).toContain('has cancelled this request');
    expect((await (await app.as(ann)).get(`/agents/${id}/runs`)).body).toEqual([]);
  });

  test('are resumed and cancelled by tokens that may call only', async () => {
    const client = await app.as(ann);
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const made = await client.post('/users/me/tokens', { name: 'n', scopes: ['files:read'], expires_at });
    expect(made.status).toBe(201);
    const { token } = made.body;
    const narrow = { authorization: `Bearer ${token}` };
    const resumed = await fetch(mcpUrl(), { headers: { ...narrow, 'last-event-id': `${uuidv7()}_1` } });
    expect(resumed.status).toBe(403);
    const { id } = await registeredAgent(client, { name: 'kept' });
    const session = { 'mcp-session-id': uuidv7(), 'mcp-protocol-version': '2025-11-25' };
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c2' } };
    await post(cancelled, { ...session, ...narrow });
    const params = { name: `kept-a${id.slice(-12)}`, arguments: {} };
    const call = { jsonrpc: '2.0', id: 'c2', method: 'tools/call', params };
    const left = new AbortController();
    const calling = post(call, session, left.signal).catch(() => null);
    const runs = () => client.get(`/agents/${id}/runs`);
    await until(runs, ({ body }) => body.length === 1);
    left.abort();
    await calling;
  });

  test('with what cannot be stored begin no run, and long names are refused', async () => {
    const { id } = await registeredAgent(await app.as(ann), { name: 'storing' });
    const name = `storing-a${id.slice(-12)}`;
    const call = (text: string, more: object = {}) =>
      post({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: { deep: [{ text }] }, ...more },
      });
    for (const text of ['a\0b', 'a\ud800b']) {
      const answer = await (await call(text)).text();
      expect(answer).toContain('/deep/0/text: contains a NUL character or an unpaired surrogate');
    }
    const long = 'x'.repeat(256);
    const codes: unknown[] = [];
    for (const response of [
      await call('fine', { _meta: { progressToken: long } }),
      await post({ ...ping, id: long }),
    ])
      codes.push([response.status, JSON.parse(await response.text()).error.code]);
    expect(codes).toEqual([
      [400, -32600],
      [400, -32600],
    ]);
    expect((await (await app.as(ann)).get('/runs')).body).not.toContainEqual(
      expect.objectContaining({ agent_id: id }),
    );
  });

  test('every version of the protocol that the SDK knows can be spoken', async () => {
    const versions: unknown[] = [];
    for (const protocolVersion of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '1999-01-01']) {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } };
      const response = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
      expect(response.headers.get('mcp-session-id')).toMatch(/^[0-9a-f-]{36}$/);
      versions.push(
        JSON.parse(/^data: (\{.*)$/m.exec(await response.text())?.[1] ?? '{}').result.protocolVersion,
      );
    }
    expect(versions).toEqual(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2025-11-25']);
  });
});

describe('the OpenAI-compatible API', () => {
  test('names the parameter in the way', async () => {
    const client = await app.as(ann);
    await registeredAgent(client, { name: 'chatty', type: 'llm', visibility: 'public' });
    const messages = [{ role: 'user', content: 'hi' }];
    const answers: unknown[] = [];
    for (const body of [
      { messages },
      { model: 'nobody', messages },
      { model: 'chatty', messages, n: 2 },
      { model: 'chatty', messages, tools: [{ type: 'function' }] },
      { model: 'chatty', messages, response_format: { type: 'json_object' } },
      { model: 'chatty', messages, colour: 'red' },
      { model: 'chatty', messages: [{ role: 'tool', content: 'x' }] },
      {
        model: 'chatty',
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }],
      },
      { model: 'chatty', messages: [{ role: 'system', content: 'x' }] },
      { model: 'chatty', messages: [{ role: 'user', content: 'a\0b' }] },
      { model: 'a\0b', messages },
    ]) {
      const { status, body: answer } = await client.post('/v1/chat/completions', body);
      answers.push([status, answer.error.param, answer.error.type]);
    }
    const wrong = (param: string) => [400, param, 'invalid_request_error'];
    expect(answers).toEqual([
      wrong('model'),
      [404, 'model', 'invalid_request_error'],
      wrong('n'),
      wrong('tools'),
      wrong('response_format'),
      wrong('colour'),
      wrong('messages[0].role'),
      wrong('messages[0].content[0].image_url.url'),
      wrong('messages'),
      wrong('messages[0].content'),
      wrong('model'),
    ]);
    expect((await client.get('/v1/models/a%00b')).status).toBe(404);
  });

  test('shows agents that the caller may see, and is for builders', async () => {
    const mine = await registeredAgent(await app.as(ann), { name: 'of ann' });
    const bob = await app.as(await app.createUser());
    expect((await bob.get(`/v1/models/${mine.id}`)).status).toBe(404);
    expect((await bob.get('/v1/models')).body.data.map(({ id }: { id: string }) => id)).not.toContain(
      'of ann',
    );
    const chat = { model: 'chatty', messages: [{ role: 'user', content: 'hi' }] };
    const viewer = await (await app.as('viewer')).post('/v1/chat/completions', chat);
    expect([viewer.status, viewer.body.error.code]).toEqual([403, 'role_required']);
    const early = await (await app.as('viewer')).post('/v1/chat/completions', { model: 1 });
    expect(early.status).toBe(403);
    const stranger = await app.anonymous.post('/v1/chat/completions', chat);
    expect([stranger.status, stranger.body.error.code]).toEqual([401, 'invalid_api_key']);
    expect((await bob.get('/v1/embeddings')).body.error.type).toBe('invalid_request_error');
    expect((await bob.get('/api/v1/v1/models')).status).toBe(404);
    const found = await bob.post('/v1/chat/completions', { ...chat, model: mine.id });
    expect(found.status).toBe(404);
  });

  test('every model of the list is found, also those that only admins see', async () => {
    const client = await app.as(ann);
    const body = (task: string) => ({ type: 'audio', configuration: { task, model: 'm' } });
    await registeredAgent(client, { name: 'listener', ...body('transcribe') });
    await registeredAgent(client, { name: 'looker', type: 'vision' });
    await registeredAgent(client, { name: 'twice' });
    await registeredAgent(client, { name: 'speaker', ...body('speak') });
    await registeredAgent(client, { name: 'device', type: 'sensor' });
    const admin = await app.as('admin');
    await registeredAgent(admin, { name: 'twice' });
    for (const user of [client, admin]) {
      const { data } = (await user.get('/v1/models')).body as { data: { id: string }[] };
      expect(data.length).toBeGreaterThan(4);
      for (const { id } of data)
        expect([id, (await user.get(`/v1/models/${encodeURIComponent(id)}`)).status]).toEqual([id, 200]);
    }
    const names = (await client.get('/v1/models')).body.data.map(({ id }: { id: string }) => id);
    expect(names).toEqual(expect.arrayContaining(['listener', 'looker']));
    expect(names).not.toContain('speaker');
    expect(names).not.toContain('device');
    const refused: unknown[] = [];
    for (const model of ['device', 'speaker', 'looker', 'listener']) {
      const messages = [{ role: 'user', content: 'hi' }];
      const { status, body: answer } = await client.post('/v1/chat/completions', { model, messages });
      refused.push([status, answer.error.code]);
    }
    expect(refused).toEqual([
      [400, 'unsupported_model'],
      [400, 'unsupported_model'],
      [400, 'missing_file'],
      [400, 'missing_file'],
    ]);
  });
});
