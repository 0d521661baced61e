/** Attacks on the OAuth server (RFC 9700): stolen codes, mix-up, redirects, PKCE, replay, forged consent. */
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { credentials, makeGenericClientConstructor, Metadata } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';

import {
  createClient,
  startTestApp,
  type Client,
  type Reply,
  type TestApp,
  type TestUser,
} from '../support/app.ts';
import { fromOwnPage, sessionCookie, withHeaders } from '../support/browser.ts';
import {
  answer,
  authorizationFields,
  authorize,
  authorizePath,
  comesBack,
  hiddenFields,
  pkce,
  postForm,
  redeem,
  redirectUri,
  register,
  type Flow,
} from '../support/oauth-client.ts';
import { inOneHour } from '../support/human-tasks.ts';
import { openStream } from '../support/sse-client.ts';
import { workflowAgentPath } from '../support/workflow-agent.ts';

/** The promised five seconds, plus what a busy machine adds. */
const soonMs = 35_000;
let app: TestApp;
let admin: Client;
let ann: TestUser;
let page: Client;
let clientId: string;

async function pageOf(user: TestUser): Promise<Client> {
  return withHeaders(createClient(app.url), { ...fromOwnPage, cookie: await sessionCookie(app, user) });
}

beforeAll(async () => {
  app = await startTestApp({ env: { OAUTH_CLIENTS_PER_ADDRESS: '1000', A2A_GRPC_PORT: '0' } });
  admin = await app.as('admin');
});
afterAll(() => app.close());
beforeEach(async () => {
  ann = await app.createUser();
  page = await pageOf(ann);
  clientId = await register(app);
});

/** @returns what the refusal says */
async function cancelByGrpc(agent: string, id: string, token: string): Promise<string | undefined> {
  const { path, requestSerialize, responseDeserialize } = A2AService.cancelTask;
  const address = app.app.deps.grpc.url ?? '';
  const grpc = new (makeGenericClientConstructor({}, 'raw'))(address, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  metadata.set('a2a-version', '1.0');
  const request = { tenant: agent, id, metadata: undefined };
  const details = await new Promise<string | undefined>((resolve) => {
    grpc.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, metadata, (error) =>
      resolve(error?.details),
    );
  });
  grpc.close();
  return details;
}

const meStatus = async (token: string): Promise<number> =>
  (await createClient(app.url, token).get('/users/me')).status;
const outcome = ({ status, body }: { status: number; body: { error: string } }) => [status, body.error];
const invalidGrant = [400, 'invalid_grant'];

describe('a stolen code', () => {
  test('is worth nothing without the verifier, and is spent by the attempt', async () => {
    for (const verifier of ['', pkce().verifier, 'short', 'x'.repeat(200)]) {
      const flow = await authorize(app, page);
      expect(outcome(await redeem(app, { ...flow, verifier }))).toEqual(invalidGrant);
      expect(outcome(await redeem(app, flow))).toEqual(invalidGrant);
    }
  });

  test('cannot be injected into another log-in of the same client', async () => {
    const stolen = await authorize(app, page, { client_id: clientId });
    const own = await authorize(app, await pageOf(await app.createUser()), { client_id: clientId });
    expect(outcome(await redeem(app, { ...own, code: stolen.code }))).toEqual(invalidGrant);
  });

  test('cannot be redeemed by another client, and stays good for its own', async () => {
    const flow = await authorize(app, page, { client_id: clientId });
    expect(outcome(await redeem(app, { ...flow, clientId: await register(app) }))).toEqual(invalidGrant);
    expect((await redeem(app, flow)).status).toBe(200);
  });

  test('is refused with another redirect URI', async () => {
    const flow = await authorize(app, page);
    expect(outcome(await redeem(app, flow, { redirect_uri: 'https://evil.example/callback' }))).toEqual(
      invalidGrant,
    );
  });

  test('replayed ends the tokens that it gave, refresh tokens and streams included', async () => {
    const flow = await authorize(app, page);
    const { body } = await redeem(app, flow);
    const headers = { authorization: `Bearer ${body.access_token}` };
    const stream = await openStream(`${app.url}/events`, { headers });
    expect(await meStatus(body.access_token)).toBe(200);
    expect(outcome(await redeem(app, flow))).toEqual(invalidGrant);
    expect(await meStatus(body.access_token)).toBe(401);
    const late = new Promise((resolve) => setTimeout(resolve, soonMs, 'late').unref());
    expect(await Promise.race([stream.ended.then(() => 'ended'), late])).toBe('ended');
    const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
    expect(
      outcome(await postForm(app.anonymous, '/auth/token', { ...refresh, client_id: flow.clientId })),
    ).toEqual(invalidGrant);
  });

  test('sent twice at once gives one session, which then ends', async () => {
    const flow = await authorize(app, page);
    const replies = await Promise.all([1, 2, 3].map(() => redeem(app, flow)));
    const won = replies.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    expect(await meStatus(won[0]?.body.access_token)).toBe(401);
  });

  test('expires after a minute', async () => {
    const flow = await authorize(app, page);
    await app.orm.em.fork().execute(`update oauth_code set expires_at = now() - interval '1 second'`);
    expect(outcome(await redeem(app, flow))).toEqual(invalidGrant);
  });

  test('is not in the database in the clear', async () => {
    const { code } = await authorize(app, page);
    const rows = await app.orm.em
      .fork()
      .execute<{ row: string }[]>('select to_jsonb(c)::text as row from oauth_code c');
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.some(({ row }) => row.includes(code))).toBe(false);
  });
});

describe('a code is void once', () => {
  const ends: [string, () => Promise<unknown>][] = [
    ['its user is disabled', () => admin.patch(`/users/${ann.id}`, { status: 'disabled' })],
    ['the password is reset', () => admin.patch(`/users/${ann.id}`, { password: 'another long one' })],
    ['the session that approved logs out', () => page.delete('/console/session')],
  ];
  test.each(ends)('%s', async (_name, end) => {
    const flow = await authorize(app, page);
    await end();
    expect(outcome(await redeem(app, flow))).toEqual(invalidGrant);
  });

  test('and so are the tokens of a client whose user is disabled', async () => {
    const { body } = await redeem(app, await authorize(app, page));
    await admin.patch(`/users/${ann.id}`, { status: 'disabled' });
    expect(await meStatus(body.access_token)).toBe(401);
  });
});

describe('the authorization request', () => {
  const fieldsWith = (changes: Record<string, string | null>): Record<string, string> =>
    Object.fromEntries(
      Object.entries({ ...authorizationFields(clientId, pkce().challenge), ...changes }).filter(
        (entry): entry is [string, string] => entry[1] !== null,
      ),
    );
  const bad: [string, Record<string, string | null>, string][] = [
    ['no client', { client_id: null }, 'invalid_client'],
    ['an unknown client', { client_id: '0190d4c2-0000-7000-8000-000000000000' }, 'invalid_client'],
    ['no redirect URI', { redirect_uri: null }, 'invalid_request'],
    ['a foreign redirect URI', { redirect_uri: 'https://evil.example/callback' }, 'invalid_request'],
    ['a longer redirect URI', { redirect_uri: `${redirectUri}/x` }, 'invalid_request'],
    ['another query', { redirect_uri: `${redirectUri}?x=1` }, 'invalid_request'],
    ['a path with dots', { redirect_uri: `${redirectUri}/../other` }, 'invalid_request'],
    [
      'a host that begins alike',
      { redirect_uri: 'https://client.example.com.evil.example/callback' },
      'invalid_request',
    ],
    [
      'a user in front of the host',
      { redirect_uri: 'https://client.example.com@evil.example/callback' },
      'invalid_request',
    ],
    ['plain HTTP', { redirect_uri: redirectUri.replace('https', 'http') }, 'invalid_request'],
    ['no PKCE', { code_challenge: null, code_challenge_method: null }, 'invalid_request'],
    ['PKCE without a method, which means plain', { code_challenge_method: null }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a short challenge', { code_challenge: 'abc' }, 'invalid_request'],
    ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
    ['a hybrid flow', { response_type: 'code token' }, 'unsupported_response_type'],
    ['a fragment response', { response_mode: 'fragment' }, 'invalid_request'],
    ['a request object', { request: 'e30.e30.' }, 'request_not_supported'],
    ['a foreign resource', { resource: 'https://evil.example/mcp' }, 'invalid_target'],
  ];
  test.each(bad)('with %s is refused here, without a redirect', async (_name, changes, code) => {
    const fields = fieldsWith(changes);
    const proof = hiddenFields((await page.get(authorizePath(fieldsWith({})))).body)['proof'] ?? '';
    for (const reply of [
      await page.get(authorizePath(fields)),
      await postForm(page, '/auth/authorize', { ...fields, proof, action: 'approve' }),
      await postForm(page, '/auth/authorize', { ...fields, proof, action: 'deny' }),
    ]) {
      expect([reply.status, reply.body.code, reply.headers.get('location')]).toEqual([400, code, null]);
    }
  });

  test('with a parameter twice is refused', async () => {
    const second = new URLSearchParams({ redirect_uri: 'https://evil.example/' }).toString();
    const path = `${authorizePath(fieldsWith({}))}&${second}`;
    const reply = await page.get(path);
    expect([reply.status, reply.headers.get('location')]).toEqual([400, null]);
  });

  test("cannot use another client's redirect URI", async () => {
    const other = await register(app, { redirect_uris: ['https://evil.example/callback'] });
    const reply = await page.get(authorizePath(fieldsWith({ client_id: other })));
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
  });

  test('names the issuer in each answer, so that a client notices a mix-up', async () => {
    for (const action of ['approve', 'deny'])
      expect(comesBack(await answer(page, fieldsWith({}), action))['iss']).toBe(app.env.BASE_URL);
  });
});

describe('consent', () => {
  const fields = (): Record<string, string> => authorizationFields(clientId, pkce().challenge);
  const formOf = async (who: Client, all: Record<string, string>): Promise<Record<string, string>> => ({
    ...hiddenFields((await who.get(authorizePath(all))).body),
    action: 'approve',
  });

  test('cannot be given by a foreign page', async () => {
    const form = await formOf(page, fields());
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
    ]) {
      const reply = await postForm(withHeaders(page, headers), '/auth/authorize', form);
      expect([reply.status, reply.body.code, reply.headers.get('location')]).toEqual([
        403,
        'foreign_page',
        null,
      ]);
    }
  });

  test('counts for the page that was shown, to that user, with those parameters', async () => {
    const shown = fields();
    const form = await formOf(page, shown);
    const bob = await pageOf(await app.createUser());
    const forged: [Client, Record<string, string>][] = [
      [page, { ...form, proof: '' }],
      [page, { ...form, proof: 'forged' }],
      [page, { ...form, scope: 'admin' }],
      [page, { ...form, code_challenge: pkce().challenge }],
      [page, { ...form, client_id: await register(app) }],
      [page, { ...form, state: 'another' }],
      [bob, form],
    ];
    for (const [who, sent] of forged) {
      const reply = await postForm(who, '/auth/authorize', sent);
      expect([reply.status, reply.body.code]).toEqual([403, 'foreign_page']);
    }
    expect((await postForm(page, '/auth/authorize', form)).status).toBe(303);
  });

  test('in two tabs gives each tab its own client and code', async () => {
    const verifiers = [pkce(), pkce()];
    const clients = [clientId, await register(app)];
    const forms = [];
    for (const [tab, id] of clients.entries())
      forms.push(await formOf(page, authorizationFields(id, verifiers[tab]!.challenge)));
    for (const tab of [1, 0]) {
      const code = comesBack(await postForm(page, '/auth/authorize', forms[tab]!))['code'] ?? '';
      const flow: Flow = { clientId: clients[tab]!, verifier: verifiers[tab]!.verifier, code };
      expect((await redeem(app, flow)).status).toBe(200);
    }
  });

  test('is asked for again once the session has ended', async () => {
    const form = await formOf(page, fields());
    await page.delete('/console/session');
    const reply = await postForm(page, '/auth/authorize', form);
    expect([reply.status, reply.headers.get('location')]).toEqual([
      303,
      expect.stringMatching(/^\/auth\/authorize\?.*resumed=true$/),
    ]);
  });

  test('is not given with an access token, which a client might hold', async () => {
    const form = await formOf(page, fields());
    const reply = await postForm(withHeaders(await app.as(ann), fromOwnPage), '/auth/authorize', form);
    expect(reply.headers.get('location')).toMatch(/^\/auth\/authorize\?/);
  });

  test('cannot be skipped by a script in the parameters', async () => {
    const state = '"><script>alert(1)</script>';
    const shown = await page.get(authorizePath({ ...fields(), state }));
    expect(shown.body).not.toContain('<script>');
    expect(hiddenFields(shown.body)['state']).toBe(state);
    const step = await app.anonymous.get(authorizePath({ ...fields(), state }));
    expect(step.body).not.toContain('<script>');
  });

  test('guessing passwords on its page is limited as elsewhere', async () => {
    const guess = { ...fields(), action: 'log_in', username: ann.username, password: 'wrong' };
    const statuses = [];
    for (let attempt = 0; attempt < 11; attempt += 1)
      statuses.push((await postForm(page, '/auth/authorize', guess)).status);
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
    await app.orm.em.fork().execute('delete from login_attempt');
  });
});

describe('a client', () => {
  test('never gets more than its user was shown, whatever role the user gets later', async () => {
    const viewer = await app.createUser({ roles: ['viewer'] });
    const flow = await authorize(app, await pageOf(viewer), { scope: 'admin' });
    const { body } = await redeem(app, flow);
    await admin.patch(`/users/${viewer.id}`, { roles: ['admin'] });
    expect((await (await app.as(viewer)).get('/users')).status).toBe(200);
    const reply = await createClient(app.url, body.access_token).get('/users');
    expect([reply.status, reply.body.code]).toEqual([403, 'role_required']);
  });

  test('refreshes no tokens of others, and nobody else refreshes its own', async () => {
    const flow = await authorize(app, page, { client_id: clientId });
    const { body } = await redeem(app, flow);
    const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
    for (const more of [{ client_id: await register(app) }, {}, { client_id: 'cadenza' }])
      expect(outcome(await postForm(app.anonymous, '/auth/token', { ...refresh, ...more }))).toEqual(
        invalidGrant,
      );
    const byJson = await app.anonymous.post('/auth/token', refresh);
    expect([byJson.status, byJson.body.code]).toEqual([401, 'invalid_credentials']);
    const foreign = { ...refresh, client_id: clientId, resource: 'https://evil.example' };
    expect((await postForm(app.anonymous, '/auth/token', foreign)).body.error).toBe('invalid_target');
    const own = await postForm(app.anonymous, '/auth/token', { ...refresh, client_id: clientId });
    expect(own.status).toBe(200);
    expect(
      outcome(await postForm(app.anonymous, '/auth/token', { ...refresh, client_id: clientId })),
    ).toEqual(invalidGrant);
    expect(await meStatus(own.body.access_token)).toBe(401);
  });

  test('limited to reading changes nothing', async () => {
    const own = await app.as(ann);
    const { id } = (
      await own.post('/files?name=a.txt', 'text', { headers: { 'content-type': 'text/plain' } })
    ).body;
    const machine = (await own.post('/users/me/clients', { name: 'machine' })).body;
    const flow = await authorize(app, page, { scope: 'viewer' });
    const client = createClient(app.url, (await redeem(app, flow)).body.access_token);
    expect((await client.get(`/files/${id}/metadata`)).status).toBe(200);
    const nobody = '0190d4c2-0000-7000-8000-000000000000';
    const replies = [
      await client.patch(`/files/${id}`, { visibility: 'public' }),
      await client.delete(`/files/${id}`),
      await client.post(`/files/${id}/link`, {}),
      await client.post(`/files?workflow=${nobody}`, 'x', { headers: { 'content-type': 'text/plain' } }),
      await client.post(`/marketplace/items/${nobody}/reviews`, { rating: 1 }),
      await client.post(`/hitl/tasks/${nobody}/comments`, { comment: 'Fine.' }),
      await client.delete(`/agents/${nobody}/sessions/trip`),
      await client.put('/notifications/settings', {}),
      await client.post('/notifications/read', { ids: [] }),
      await client.put('/users/me/preferences', {}),
    ];
    expect(replies.map((reply) => [reply.status, reply.body.code])).toEqual(
      replies.map(() => [403, 'role_required']),
    );
    expect((await client.delete(`/users/me/clients/${machine.id}`)).body.code).toBe('person_required');
    expect((await own.delete(`/files/${id}`)).status).toBe(204);
  });

  test('limited to reading changes nothing by any method of A2A', async () => {
    const bob = await app.createUser({ roles: ['builder'] });
    const own = await app.as(bob);
    const base = await workflowAgentPath(own, { do: [{ a: { set: { text: 'x' } } }] });
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] };
    const headers = { 'A2A-Version': '1.0' };
    const rpc = (by: Client, method: string, params: object) =>
      by.post(base, { jsonrpc: '2.0', id: 1, method, params }, { headers });
    const sent = await rpc(own, 'SendMessage', { message, configuration: { returnImmediately: true } });
    const { id } = sent.body.result.task;
    const tokenFor = async (scope: string): Promise<string> => {
      const flow = await authorize(app, await pageOf(bob), { scope });
      return (await redeem(app, flow)).body.access_token;
    };
    const token = await tokenFor('viewer');
    const limited = createClient(app.url, token);
    const url = 'https://receiver.example.com/push';
    const push = { taskId: id, id: 'c', url };
    expect((await rpc(own, 'CreateTaskPushNotificationConfig', push)).body.result).toMatchObject({ id: 'c' });
    for (const [method, params] of [
      ['GetTask', { id }],
      ['ListTasks', {}],
      ['GetTaskPushNotificationConfig', { taskId: id, id: 'c' }],
      ['ListTaskPushNotificationConfigs', { taskId: id }],
    ] as const)
      expect([method, (await rpc(limited, method, params)).body]).toEqual([
        method,
        expect.objectContaining({ result: expect.anything() }),
      ]);
    expect((await limited.post(`/runs/${id}/cancel`, {})).status).toBe(403);
    const other = 'https://other.example.com/push';
    const configs = `tasks/${id}/pushNotificationConfigs`;
    const pushing = { returnImmediately: true, taskPushNotificationConfig: { id: 'd', url: other } };
    const changes: [string, () => Promise<Reply>][] = [
      ...(
        [
          ['SendMessage', { message: { ...message, messageId: 'n' } }],
          ['SendStreamingMessage', { message: { ...message, messageId: 'n' } }],
          // A repeated message starts nothing, but has another push configuration.
          ['SendMessage', { message, configuration: pushing }],
          ['CancelTask', { id }],
          ['CreateTaskPushNotificationConfig', { taskId: id, id: 'd', url: other }],
          ['DeleteTaskPushNotificationConfig', { taskId: id, id: 'c' }],
        ] as const
      ).map(([method, params]): [string, () => Promise<Reply>] => [
        method,
        () => rpc(limited, method, params),
      ]),
      ...(
        [
          ['tasks/cancel', { id }],
          [
            'tasks/pushNotificationConfig/set',
            { taskId: id, pushNotificationConfig: { id: 'd', url: other } },
          ],
          ['tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId: 'c' }],
        ] as const
      ).map(([method, params]): [string, () => Promise<Reply>] => [
        method,
        () => limited.post(base, { jsonrpc: '2.0', id: 1, method, params }),
      ]),
      ['POST :cancel', () => limited.post(`${base}/tasks/${id}:cancel`, {}, { headers })],
      ['POST :cancel of 0.3', () => limited.post(`${base}/v1/tasks/${id}:cancel`, {})],
      ['POST configs', () => limited.post(`${base}/${configs}`, { url: other }, { headers })],
      ['DELETE config', () => limited.delete(`${base}/${configs}/c`, { headers })],
      ['DELETE config of 0.3', () => limited.delete(`${base}/v1/${configs}/c`)],
    ];
    for (const [change, request] of changes)
      expect([change, JSON.stringify((await request()).body)]).toEqual([
        change,
        expect.stringMatching(/(requires|needs) the role builder/),
      ]);
    expect(await cancelByGrpc(base.split('/').at(-1) ?? '', id, token)).toContain(
      'requires the role builder',
    );
    expect((await own.get(`/runs/${id}`)).body.status).toBe('pending');
    const listed = await rpc(own, 'ListTaskPushNotificationConfigs', { taskId: id });
    expect(listed.body.result.configs).toMatchObject([{ id: 'c', url }]);
    const full = createClient(app.url, await tokenFor('builder'));
    const removed = await rpc(full, 'DeleteTaskPushNotificationConfig', { taskId: id, id: 'c' });
    expect(removed.body.error).toBeUndefined();
    const left = await rpc(own, 'ListTaskPushNotificationConfigs', { taskId: id });
    expect(left.body.result.configs ?? []).toEqual([]);
    const cancelled = await rpc(full, 'CancelTask', { id });
    expect(cancelled.body.result.status.state).toBe('TASK_STATE_CANCELED');
  });

  test('that could not set a push notification is not told its secrets', async () => {
    const bob = await app.createUser({ roles: ['builder'] });
    const own = await app.as(bob);
    const base = await workflowAgentPath(own, { do: [{ a: { set: { text: 'x' } } }] });
    const headers = { 'A2A-Version': '1.0' };
    const rpc = (by: Client, method: string, params: object, sent: Record<string, string> = headers) =>
      by.post(base, { jsonrpc: '2.0', id: 1, method, params }, { headers: sent });
    const push = {
      id: 'c',
      url: 'https://receiver.example.com/push',
      token: 'the-token',
      authentication: { scheme: 'Bearer', credentials: 'the-credentials' },
    };
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] };
    const configuration = { returnImmediately: true, taskPushNotificationConfig: push };
    const { id } = (await rpc(own, 'SendMessage', { message, configuration })).body.result.task;
    const configs = `tasks/${id}/pushNotificationConfigs`;
    /** What each way to read a configuration answers. */
    const readBy = async (by: Client): Promise<string[]> => {
      const replies = [
        await rpc(by, 'GetTaskPushNotificationConfig', { taskId: id, id: 'c' }),
        await rpc(by, 'ListTaskPushNotificationConfigs', { taskId: id }),
        await rpc(by, 'tasks/pushNotificationConfig/get', { id, pushNotificationConfigId: 'c' }, {}),
        await rpc(by, 'tasks/pushNotificationConfig/get', { id }, {}),
        await rpc(by, 'tasks/pushNotificationConfig/list', { id }, {}),
        await by.get(`${base}/${configs}`, { headers }),
        await by.get(`${base}/${configs}/c`, { headers }),
        await by.get(`${base}/v1/${configs}`),
        await by.get(`${base}/v1/${configs}/c`),
      ];
      return replies.map(({ body }) => JSON.stringify(body));
    };
    const clientFor = async (scope: string): Promise<Client> => {
      const flow = await authorize(app, await pageOf(bob), { scope });
      return createClient(app.url, (await redeem(app, flow)).body.access_token);
    };
    const tokenFor = async (...scopes: string[]): Promise<Client> => {
      const made = await own.post('/users/me/tokens', { name: 't', scopes, expires_at: inOneHour() });
      return createClient(app.url, made.body.token);
    };
    for (const by of [await clientFor('viewer'), await clientFor('runs:read'), await tokenFor('runs:read')])
      for (const answer of await readBy(by)) {
        expect(answer).toContain(push.url);
        expect(answer).toContain('Bearer');
        expect(answer).not.toMatch(/the-token|the-credentials/);
      }
    const full = await tokenFor('runs:read', 'runs:write');
    for (const by of [own, await clientFor('builder'), full])
      for (const answer of await readBy(by)) {
        expect(answer).toContain('the-token');
        expect(answer).toContain('the-credentials');
      }
  });

  test('reads nothing that is for a person only', async () => {
    const flow = await authorize(app, page, { scope: 'viewer' });
    const client = createClient(app.url, (await redeem(app, flow)).body.access_token);
    const personal = app.app.endpoints.filter(
      ({ method, scope, role }) => method === 'GET' && scope === 'person' && role === 'viewer',
    );
    expect(personal.map(({ operationId }) => operationId)).toContain('getMyPersonalData');
    for (const { path } of personal) {
      const reply = await client.get(path);
      expect([path, reply.status, reply.body.code]).toEqual([path, 403, 'person_required']);
    }
  });

  test('with fewer roles than its user cannot receive by a webhook what it may not read', async () => {
    const boss = await app.createUser({ roles: ['admin'] });
    const url = 'https://receiver.example.com/hook';
    const hook = (await (await app.as(boss)).post('/webhooks', { url })).body;
    const tokenFor = async (scope: string): Promise<Client> => {
      const flow = await authorize(app, await pageOf(boss), { scope });
      return createClient(app.url, (await redeem(app, flow)).body.access_token);
    };
    const limited = await tokenFor('builder');
    for (const reply of [
      await limited.post('/webhooks', { url }),
      await limited.patch(`/webhooks/${hook.id}`, { url: 'https://evil.example.com/hook' }),
      await limited.get(`/webhooks/${hook.id}/deliveries`),
      await limited.get(`/webhooks/${hook.id}/deliveries/${hook.id}`),
    ])
      expect([reply.status, reply.body.code]).toEqual([403, 'client_limited']);
    expect((await (await tokenFor('admin')).post('/webhooks', { url })).status).toBe(201);
  });

  test('with fewer roles than its user makes and changes no webhooks by a set of resources', async () => {
    const boss = await app.createUser({ roles: ['admin'] });
    const asBoss = await app.as(boss);
    const flow = await authorize(app, await pageOf(boss), { scope: 'builder' });
    const limited = createClient(app.url, (await redeem(app, flow)).body.access_token);
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const scopes = ['workflows:write', 'webhooks:write'];
    const token = (await asBoss.post('/users/me/tokens', { name: 'ci', scopes, expires_at })).body.token;
    // A client stores no secrets, but a credential of an agent becomes one, and the record has its name.
    const agent = await limited.post('/agents', {
      name: 'holder',
      type: 'api',
      version: '1.0.0',
      visibility: 'private',
      configuration: { headers: { 'X-API-Key': `whsec_${Buffer.alloc(32, 7).toString('base64')}` } },
    });
    const secret: string = agent.body.configuration.headers['X-API-Key'];
    const url = 'https://receiver.example.com/hook';
    const webhook = { kind: 'webhook', name: 'all', url, secret };
    const evil = { ...webhook, url: 'https://evil.example.com/hook' };
    const apply = (client: Client, resources: object[], more: object = {}) =>
      client.post('/apply', { set: 'boss', resources, ...more });

    const clients = [limited, createClient(app.url, token)];
    for (const client of clients) {
      const { status, body } = await apply(client, [webhook]);
      expect([status, body.problems]).toMatchObject([422, [{ kind: 'webhook', code: 'client_limited' }]]);
    }
    expect((await apply(asBoss, [webhook])).status).toBe(200);
    for (const client of clients) {
      const { status, body } = await apply(client, [evil]);
      expect([status, body.problems]).toMatchObject([422, [{ kind: 'webhook', code: 'client_limited' }]]);
      expect((await apply(client, [webhook])).body.plan).toMatchObject([{ action: 'unchanged' }]);
      const pruned = await apply(client, [], { prune: true, dry_run: true });
      expect([pruned.status, pruned.body.code]).toEqual([403, 'client_limited']);
    }
    expect((await asBoss.get(`/webhooks?owner_id=${boss.id}`)).body).toMatchObject([{ url, active: true }]);
  });

  test('cannot create credentials, end sessions, approve devices or set secrets', async () => {
    const { body } = await redeem(app, await authorize(app, page));
    const client = createClient(app.url, body.access_token);
    const replies = [
      await client.post('/users/me/clients', { name: 'machine' }),
      await client.delete('/users/me/sessions'),
      await client.post('/auth/device/decision', { user_code: 'BBBB-BBBB', decision: 'approve' }),
      // A session that is too old for them could approve a client instead.
      await client.put('/secrets/KEY', { value: 'x' }),
      await client.delete('/secrets/KEY'),
    ];
    expect(replies.map((reply) => [reply.status, reply.body.code])).toEqual(
      replies.map(() => [403, 'person_required']),
    );
  });

  test('gets another resource than the approved one only by another approval', async () => {
    const resource = `${app.env.BASE_URL}/mcp`;
    const flow = await authorize(app, page, { resource });
    const reply = await redeem(app, flow, { resource: app.env.BASE_URL });
    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_target']);
    const again = await authorize(app, page, { resource });
    expect((await redeem(app, again, { resource })).status).toBe(200);
  });
});
