/**
 * A2A without a worker: how each method and route of both versions answers a stranger, and which version is
 * served when.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestApp, type Client, type Reply, type TestApp } from '../../support/app.ts';
import { endRun } from '../../support/human-tasks.ts';
import { workflowAgentPath } from '../../support/workflow-agent.ts';

let app: TestApp;
let owner: Client;
let stranger: Client;
let base: string;
let other: string;
let task: string;

const V1 = { 'A2A-Version': '1.0' };
const NOT_FOUND = -32001;
let counter = 0;
const current = (more: Record<string, unknown> = {}) => ({
  messageId: `m-${++counter}`,
  role: 'ROLE_USER',
  parts: [{ text: 'x' }],
  ...more,
});
const former = (more: Record<string, unknown> = {}) => ({
  kind: 'message',
  messageId: `m-${++counter}`,
  role: 'user',
  parts: [{ kind: 'text', text: 'x' }],
  ...more,
});
const proto = (more: Record<string, unknown> = {}) => ({
  messageId: `m-${++counter}`,
  role: 'ROLE_USER',
  content: [{ text: 'x' }],
  ...more,
});
const url = 'https://hooks.example/x';

beforeAll(async () => {
  app = await startTestApp();
  owner = await app.as('builder');
  stranger = await app.as(await app.createUser({ roles: ['builder'] }));
  const agent = () =>
    workflowAgentPath(owner, { do: [{ a: { set: { text: 'x' } } }] }, { visibility: 'public' });
  [base, other] = [await agent(), await agent()];
  const sent = await owner.post(
    base,
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: current(), configuration: { returnImmediately: true } },
    },
    { headers: V1 },
  );
  task = sent.body.result.task.id;
  await owner.post(
    base,
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'CreateTaskPushNotificationConfig',
      params: { taskId: task, id: 'c', url },
    },
    { headers: V1 },
  );
});
afterAll(() => app.close());

/** The code of the error, in a plain response or in the first event of a stream. */
function codeOf({ body }: Reply): number | undefined {
  const answer = typeof body === 'string' ? JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '{}') : body;
  return answer.error?.code;
}

const METHODS_1_0 = (id: string): [string, unknown][] => [
  ['SendMessage', { message: current({ taskId: id }) }],
  ['SendStreamingMessage', { message: current({ taskId: id }) }],
  ['GetTask', { id }],
  ['CancelTask', { id }],
  ['SubscribeToTask', { id }],
  ['CreateTaskPushNotificationConfig', { taskId: id, url }],
  ['GetTaskPushNotificationConfig', { taskId: id, id: 'c' }],
  ['ListTaskPushNotificationConfigs', { taskId: id }],
  ['DeleteTaskPushNotificationConfig', { taskId: id, id: 'c' }],
];
const METHODS_0_3 = (id: string): [string, unknown][] => [
  ['message/send', { message: former({ taskId: id }) }],
  ['message/stream', { message: former({ taskId: id }) }],
  ['tasks/get', { id }],
  ['tasks/cancel', { id }],
  ['tasks/resubscribe', { id }],
  ['tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig: { url } }],
  ['tasks/pushNotificationConfig/get', { id, pushNotificationConfigId: 'c' }],
  ['tasks/pushNotificationConfig/list', { id }],
  ['tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId: 'c' }],
];
type Call = [method: string, path: string, body?: unknown];
const ROUTES = (id: string): Call[] => [
  ['GET', `/tasks/${id}`],
  ['POST', `/tasks/${id}:cancel`, {}],
  ['GET', `/tasks/${id}:subscribe`],
  ['POST', `/tasks/${id}:subscribe`, {}],
  ['GET', `/tasks/${id}/pushNotificationConfigs`],
  ['GET', `/tasks/${id}/pushNotificationConfigs/c`],
  ['DELETE', `/tasks/${id}/pushNotificationConfigs/c`],
];
const ROUTES_1_0 = (id: string): Call[] => [
  ...ROUTES(id),
  ['POST', '/message:send', { message: current({ taskId: id }) }],
  ['POST', '/message:stream', { message: current({ taskId: id }) }],
  ['POST', `/tasks/${id}/pushNotificationConfigs`, { url }],
  ['GET', `/tasks/${id}/deliveries`],
];
const ROUTES_0_3 = (id: string): Call[] => [
  ...ROUTES(id),
  ['POST', '/message:send', { message: former({ taskId: id }) }],
  ['POST', '/message:send', { message: proto({ taskId: id }) }],
  ['POST', '/message:stream', { message: former({ taskId: id }) }],
  ['POST', '/message:stream', { message: proto({ taskId: id }) }],
  ['POST', `/tasks/${id}/pushNotificationConfigs`, { pushNotificationConfig: { url } }],
];

describe("another caller's task is not found", () => {
  /** Each task is unknown to the caller: foreign, of another agent, or nonexistent. */
  const cases = (): [string, Client, string, string][] => [
    ['of somebody else', stranger, base, task],
    ['of another agent', owner, other, task],
    ['unknown', owner, base, '01998c00-0000-7000-8000-000000000000'],
    ['not a valid id', owner, base, 'no-such-task'],
  ];

  test.each([
    ['1.0', METHODS_1_0, V1],
    ['0.3', METHODS_0_3, {}],
  ] as const)('by any JSON-RPC method of %s', async (_, methods, headers) => {
    for (const [situation, client, at, id] of cases()) {
      for (const [method, params] of methods(id)) {
        const answer = await client.post(
          at,
          { jsonrpc: '2.0', id: 7, method, params },
          { headers: { ...headers } },
        );
        expect([situation, method, codeOf(answer), answer.status]).toEqual([
          situation,
          method,
          NOT_FOUND,
          200,
        ]);
      }
    }
  });

  test.each([
    ['1.0', '', ROUTES_1_0, V1],
    ['0.3', '/v1', ROUTES_0_3, {}],
  ] as const)('by any REST route of %s', async (_, prefix, routes, headers) => {
    for (const [situation, client, at, id] of cases()) {
      for (const [method, path, body] of routes(id)) {
        const { status } = await client.request(method, at + prefix + path, {
          headers: { ...headers },
          ...(body === undefined ? {} : { body }),
        });
        expect([situation, method, path, status]).toEqual([situation, method, path, 404]);
      }
    }
  });

  test('in lists, and the attempts did not change it', async () => {
    const list = await stranger.post(
      base,
      { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} },
      { headers: V1 },
    );
    expect(list.body.result).toMatchObject({ tasks: [], totalSize: 0 });
    expect((await stranger.get(`${base}/tasks`, { headers: V1 })).body.tasks).toEqual([]);
    expect((await owner.get(`${base}/tasks/${task}`, { headers: V1 })).body).toMatchObject({
      status: { state: 'TASK_STATE_SUBMITTED' },
      history: [{}],
    });
    expect(
      (await owner.get(`${base}/tasks/${task}/pushNotificationConfigs`, { headers: V1 })).body.configs,
    ).toMatchObject([{ id: 'c', url }]);
  });
});

describe('the A2A version of a request', () => {
  const rpc = (method: string, params: unknown) => ({ jsonrpc: '2.0', id: 1, method, params });
  const VERSION_NOT_SUPPORTED = -32009;

  test.each([
    ['1.0', { 'A2A-Version': '1.0' }, '', 'GetTask', undefined],
    ['1.0.1', { 'A2A-Version': '1.0.1' }, '', 'GetTask', undefined],
    ['1.0 by query', {}, '?A2A-Version=1.0', 'GetTask', undefined],
    ['0.3.0', { 'A2A-Version': '0.3.0' }, '', 'tasks/get', undefined],
    ['0.3', { 'A2A-Version': '0.3' }, '', 'tasks/get', undefined],
    ['absent', {}, '', 'tasks/get', undefined],
    ['empty', { 'A2A-Version': '' }, '', 'tasks/get', undefined],
    ['0.3 by query', {}, '?A2A-Version=0.3.0', 'tasks/get', undefined],
    ['the header before the query', { 'A2A-Version': '1.0' }, '?A2A-Version=0.3', 'GetTask', undefined],
    ['99.0', { 'A2A-Version': '99.0' }, '', 'GetTask', VERSION_NOT_SUPPORTED],
    ['99.0 by query', {}, '?A2A-Version=99.0', 'tasks/get', VERSION_NOT_SUPPORTED],
    ['1.1', { 'A2A-Version': '1.1' }, '', 'GetTask', VERSION_NOT_SUPPORTED],
    ['no number', { 'A2A-Version': 'latest' }, '', 'GetTask', VERSION_NOT_SUPPORTED],
    ['1.0 with a method of 0.3', V1, '', 'tasks/get', -32601],
    ['absent with a method of 1.0', {}, '', 'GetTask', -32601],
  ])('selects or refuses the JSON-RPC method: %s', async (_, headers, query, method, code) => {
    const { body } = await owner.post(base + query, rpc(method, { id: task }), {
      headers: headers as Record<string, string>,
    });
    expect(body.error?.code).toBe(code);
    if (code === undefined) expect(body.result.id).toBe(task);
  });

  test.each([
    ['1.0', '', { 'A2A-Version': '1.0' }, '', 200],
    ['1.0.1', '', { 'A2A-Version': '1.0.1' }, '', 200],
    ['1.0 by query', '', {}, '?A2A-Version=1.0', 200],
    ['0.3.0', '', { 'A2A-Version': '0.3.0' }, '', 400],
    ['absent', '', {}, '', 400],
    ['99.0', '', { 'A2A-Version': '99.0' }, '', 400],
    ['0.3.0 below /v1', '/v1', { 'A2A-Version': '0.3.0' }, '', 200],
    ['absent below /v1', '/v1', {}, '', 200],
    ['0.3 by query below /v1', '/v1', {}, '?A2A-Version=0.3', 200],
    ['1.0 below /v1', '/v1', { 'A2A-Version': '1.0' }, '', 400],
    ['99.0 below /v1', '/v1', { 'A2A-Version': '99.0' }, '', 400],
    ['99.0 by query below /v1', '/v1', {}, '?A2A-Version=99.0', 400],
  ])('selects or refuses the REST route: %s', async (_, prefix, headers, query, status) => {
    const answer = await owner.get(`${base}${prefix}/tasks/${task}${query}`, {
      headers: headers as Record<string, string>,
    });
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.body.id).toBe(task);
    else expect(answer.body).toMatchObject({ error: expect.anything() });
  });
});

describe('an invalid request is refused in the terms of the protocol, without internals', () => {
  const rpc = async (method: string, params: unknown, headers: Record<string, string> = V1) =>
    (await owner.post(base, { jsonrpc: '2.0', id: 1, method, params }, { headers })).body;
  const INVALID_PARAMS = -32602;
  const textWithNul = 'a\u0000b';
  // Random text, because an index limits the compressed length of a value.
  const long = Array.from({ length: 4_000 }, () => Math.random().toString(36)[2] ?? 'x').join('');

  test.each([
    ['a message id with U+0000', { messageId: textWithNul }],
    ['a context with U+0000', { contextId: textWithNul }],
    ['a long context', { contextId: long }],
    ['an empty part', { parts: [null] }],
    ['parts that are not a list', { parts: 'x' }],
    ['references that are not a list', { referenceTaskIds: 5, parts: [null] }],
  ])('if the message has %s', async (_, more) => {
    expect((await rpc('SendMessage', { message: current(more) })).error.code).toBe(INVALID_PARAMS);
    expect((await rpc('SendStreamingMessage', { message: current(more) })).error.code).toBe(INVALID_PARAMS);
    const rest = await owner.post(`${base}/message:send`, { message: current(more) }, { headers: V1 });
    expect(rest.status).toBe(400);
    const legacy = await rpc('message/send', { message: { ...former(), ...more } }, {});
    expect(legacy.error.code).toBe(INVALID_PARAMS);
    expect((await owner.post(`${base}/v1/message:send`, { message: { ...former(), ...more } })).status).toBe(
      400,
    );
    for (const answer of [rest.body, legacy])
      expect(JSON.stringify(answer)).not.toMatch(/cannot read|iterable|undefined/i);
  });

  test('unless only the text or the metadata is unusual', async () => {
    for (const more of [
      { messageId: '日本語 🎉', contextId: 'контекст/?&#' },
      { parts: [{ text: '\u0001 \u202e 🎉' }] },
      { parts: [{ data: { [textWithNul]: textWithNul } }] },
      { metadata: { [textWithNul]: textWithNul } },
    ]) {
      const { result } = await rpc('SendMessage', {
        message: current(more),
        configuration: { returnImmediately: true },
      });
      expect(result.task.status.state).toBe('TASK_STATE_SUBMITTED');
    }
  });

  test('if an id in its path or query is malformed', async () => {
    // Either not found or not a valid id.
    const expected = [404, 400];
    for (const id of ['%00', '%F0%9F%8E%89', '%E0%A4%A', "'or'1", `${task}%00`]) {
      for (const path of [
        `/tasks/${id}`,
        `/tasks/${id}:subscribe`,
        `/tasks/${id}/deliveries`,
        `/tasks/${task}/pushNotificationConfigs/${id}`,
      ]) {
        expect([path, ...expected]).toContain((await owner.get(base + path, { headers: V1 })).status);
        if (!path.endsWith('deliveries'))
          expect([path, ...expected]).toContain((await owner.get(`${base}/v1${path}`)).status);
      }
    }
    expect((await owner.get(`${base}/tasks?contextId=%00`, { headers: V1 })).status).toBe(400);
    for (const last of ['x', '-1', '1.5.5', '99999', '99999999999']) {
      expect([
        last,
        (await owner.get(`${base}/tasks/${task}:subscribe`, { headers: { ...V1, 'last-event-id': last } }))
          .status,
      ]).toEqual([last, 400]);
    }
  });

  test.each([
    { id: textWithNul },
    { id: 'a/b' },
    { url: `https://e.example/${textWithNul}` },
    { url: 'https://me:you@e.example' },
    { url: 'ftp://e.example' },
    { url: 'nowhere' },
    { token: 'line\r\nbreak' },
    { token: '日本' },
    { authentication: { scheme: 'Bearer', credentials: 'x\ny' } },
  ])('if its push config has %j', async (more) => {
    expect(
      (await rpc('CreateTaskPushNotificationConfig', { taskId: task, id: 'x', url, ...more })).error.code,
    ).toBe(INVALID_PARAMS);
  });

  test.each([
    'http://127.0.0.1:9/x',
    'https://10.0.0.1',
    'https://localhost',
    'https://[::1]:5432',
    'http://93.184.215.14',
  ])('if its push config points to %s, which deliveries refuse', async (address) => {
    for (const answer of [
      await rpc('CreateTaskPushNotificationConfig', { taskId: task, id: 'refused', url: address }),
      await rpc('SendMessage', {
        message: current(),
        configuration: {
          returnImmediately: true,
          taskPushNotificationConfig: { id: 'refused', url: address },
        },
      }),
    ]) {
      expect([answer.error.code, JSON.stringify(answer.error)]).toEqual([
        INVALID_PARAMS,
        expect.stringContaining('egress_refused'),
      ]);
    }
    const { configs } = (await owner.get(`${base}/tasks/${task}/pushNotificationConfigs`, { headers: V1 }))
      .body;
    expect(configs.map(({ id }: { id: string }) => id)).not.toContain('refused');
  });

  test.each([
    ['[]', -32600],
    ['[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}]', -32600],
    ['null', -32600],
    ['', -32700],
    ['{', -32700],
    ['{"jsonrpc":"2.0","id":1}', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"GetTask"}', -32600],
    ['{"jsonrpc":"2.0","id":1.5,"method":"GetTask","params":{}}', -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"GetTask","params":{}}', -32600],
    ['{"jsonrpc":"2.0","id":9007199254740993,"method":"GetTask","params":{}}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"__proto__","params":{}}', -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}', -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"GetTask"}', -32602],
  ])('if its envelope is %s', async (body, code) => {
    const answer = await owner.request('POST', base, {
      body,
      headers: { 'content-type': 'application/json', ...V1 },
    });
    expect([answer.status, answer.body.error.code]).toEqual([200, code]);
  });
});

test('each push config that is set is in the audit log, also one that a message sets', async () => {
  const rpc = async (method: string, params: unknown) =>
    (await owner.post(base, { jsonrpc: '2.0', id: 1, method, params }, { headers: V1 })).body;
  const send = (id: string, more: Record<string, unknown> = {}) =>
    rpc('SendMessage', {
      message: current(more),
      configuration: { returnImmediately: true, taskPushNotificationConfig: { id, url } },
    });
  const admin = await app.as('admin');
  const entries = async (): Promise<{ id: string; object: { id: string } }[]> =>
    (await admin.get('/audit?action=a2a_set_push&limit=100')).body;
  const before = (await entries()).length;
  const messageId = 'pushing';
  const id: string = (await send('first', { messageId })).result.task.id;
  // A repeated message has another config for the same task.
  expect((await send('second', { messageId })).result.task.id).toBe(id);
  expect((await rpc('CreateTaskPushNotificationConfig', { taskId: id, id: 'third', url })).error).toBe(
    undefined,
  );
  expect((await entries()).slice(0, 3).map(({ object }) => object.id)).toEqual([id, id, id]);
  // Neither the message nor the entry stays without the config.
  const tasks = async () => (await rpc('ListTasks', {})).result.totalSize;
  const known = await tasks();
  expect((await send('a/b')).error.code).toBe(-32602);
  expect([await tasks(), (await entries()).length]).toEqual([known, before + 3]);
});

test('a task has at most 20 push configs, however many come at once', async () => {
  const sent = await owner.post(
    `${base}/message:send`,
    { message: current(), configuration: { returnImmediately: true } },
    { headers: V1 },
  );
  const path = `${base}/tasks/${sent.body.task.id}/pushNotificationConfigs`;
  const replies = await Promise.all(
    Array.from({ length: 40 }, () => owner.post(path, { url }, { headers: V1 })),
  );
  const created = replies.filter(({ status }) => status < 300);
  const refused = replies.filter(({ status }) => status === 400);
  expect([created.length, refused.length]).toEqual([20, 20]);
  expect((await owner.get(path, { headers: V1 })).body.configs).toHaveLength(20);
  // One that is there can still be changed.
  const { id } = created[0]?.body ?? {};
  expect((await owner.post(path, { id, url: `${url}/y` }, { headers: V1 })).status).toBeLessThan(300);
});

test('the accepted output modes are stored as the client sent them', async () => {
  const acceptedOutputModes = ['application/json', 'a\nb', 'say "hi"', 'back\\slash'];
  const sent = await owner.post(
    base,
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: current(), configuration: { returnImmediately: true, acceptedOutputModes } },
    },
    { headers: V1 },
  );
  const rows = await app.orm.em
    .fork()
    .execute('select accepted_output_modes from a2a_task where id = ?', [sent.body.result.task.id]);
  expect(rows).toEqual([{ accepted_output_modes: acceptedOutputModes }]);
});

test('of the files that the tasks of a list name, the first hundred have links', async () => {
  const path = await workflowAgentPath(owner, { do: [{ a: { set: { text: 'x' } } }] });
  const ids: string[] = [];
  for (let index = 0; index < 60; index += 1) {
    const headers = { 'content-type': 'text/plain' };
    ids.push((await owner.post(`/files?name=${index}.txt`, 'x', { headers })).body.id);
  }
  const tasks: string[] = [];
  for (let index = 0; index < 3; index += 1) {
    const params = { message: current(), configuration: { returnImmediately: true } };
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params };
    const { id } = (await owner.post(path, body, { headers: V1 })).body.result.task;
    const output = { files: ids.map((file_id) => ({ file_id })) };
    await endRun(app.orm, id, { status: 'completed', output });
    tasks.push(id);
  }
  const listed = await owner.get(`${path}/tasks?includeArtifacts=true`, { headers: V1 });
  const links = (task: unknown): number => JSON.stringify(task).split('?token=').length - 1;
  expect(listed.body.tasks).toHaveLength(3);
  // Beyond the hundred, an output is shown as it is.
  expect(listed.body.tasks.map(links)).toEqual([60, 0, 0]);
  expect(JSON.stringify(listed.body.tasks[2])).toContain(ids[59]);
  for (const id of tasks) {
    const one = await owner.get(`${path}/tasks/${id}`, { headers: V1 });
    expect(links(one.body)).toBe(60);
  }
});
