/** A2A without a worker: what every method and route of both versions says to a stranger, and which version is served when. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestApp, type Client, type Reply, type TestApp } from '../../support/app.ts';

let app: TestApp;
let owner: Client;
let stranger: Client;
let base: string;
let other: string;
let task: string;

const V1 = { 'A2A-Version': '1.0' };
const NOT_FOUND = -32001;
let counter = 0;
const current = (more: Record<string, unknown> = {}) => ({ messageId: `m-${++counter}`, role: 'ROLE_USER', parts: [{ text: 'x' }], ...more });
const former = (more: Record<string, unknown> = {}) => ({ kind: 'message', messageId: `m-${++counter}`, role: 'user', parts: [{ kind: 'text', text: 'x' }], ...more });
const proto = (more: Record<string, unknown> = {}) => ({ messageId: `m-${++counter}`, role: 'ROLE_USER', content: [{ text: 'x' }], ...more });
const url = 'https://hooks.example/x';

beforeAll(async () => {
  app = await startTestApp();
  owner = await app.as('builder');
  stranger = await app.as(await app.createUser({ roles: ['builder'] }));
  const workflow = await owner.post('/workflows', { name: 'w', definition: { do: [{ a: { set: { text: 'x' } } }] } });
  const agent = async (): Promise<string> => {
    const made = await owner.post('/agents', {
      name: 'Public', type: 'workflow', version: '1.0.0', visibility: 'public', configuration: { workflow_id: workflow.body.id }, capabilities_streaming: true, capabilities_push: true,
    });
    return `/api/v1/a2a/${made.body.id}`;
  };
  [base, other] = [await agent(), await agent()];
  const sent = await owner.post(base, { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: current(), configuration: { returnImmediately: true } } }, { headers: V1 });
  task = sent.body.result.task.id;
  await owner.post(base, { jsonrpc: '2.0', id: 1, method: 'CreateTaskPushNotificationConfig', params: { taskId: task, id: 'c', url } }, { headers: V1 });
});
afterAll(() => app.close());

/** The error's code, of a plain answer or the first event of a stream. */
function codeOf({ body }: Reply): number | undefined {
  const said = typeof body === 'string' ? JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '{}') : body;
  return said.error?.code;
}

const METHODS_1_0 = (id: string): [string, unknown][] => [
  ['SendMessage', { message: current({ taskId: id }) }], ['SendStreamingMessage', { message: current({ taskId: id }) }], ['GetTask', { id }], ['CancelTask', { id }], ['SubscribeToTask', { id }],
  ['CreateTaskPushNotificationConfig', { taskId: id, url }], ['GetTaskPushNotificationConfig', { taskId: id, id: 'c' }], ['ListTaskPushNotificationConfigs', { taskId: id }],
  ['DeleteTaskPushNotificationConfig', { taskId: id, id: 'c' }],
];
const METHODS_0_3 = (id: string): [string, unknown][] => [
  ['message/send', { message: former({ taskId: id }) }], ['message/stream', { message: former({ taskId: id }) }], ['tasks/get', { id }], ['tasks/cancel', { id }], ['tasks/resubscribe', { id }],
  ['tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig: { url } }], ['tasks/pushNotificationConfig/get', { id, pushNotificationConfigId: 'c' }],
  ['tasks/pushNotificationConfig/list', { id }], ['tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId: 'c' }],
];
type Call = [method: string, path: string, body?: unknown];
const ROUTES = (id: string): Call[] => [
  ['GET', `/tasks/${id}`], ['POST', `/tasks/${id}:cancel`, {}], ['GET', `/tasks/${id}:subscribe`], ['POST', `/tasks/${id}:subscribe`, {}], ['GET', `/tasks/${id}/pushNotificationConfigs`],
  ['GET', `/tasks/${id}/pushNotificationConfigs/c`], ['DELETE', `/tasks/${id}/pushNotificationConfigs/c`],
];
const ROUTES_1_0 = (id: string): Call[] => [
  ...ROUTES(id), ['POST', '/message:send', { message: current({ taskId: id }) }], ['POST', '/message:stream', { message: current({ taskId: id }) }], ['POST', `/tasks/${id}/pushNotificationConfigs`, { url }],
  ['GET', `/tasks/${id}/deliveries`],
];
const ROUTES_0_3 = (id: string): Call[] => [
  ...ROUTES(id), ['POST', '/message:send', { message: former({ taskId: id }) }], ['POST', '/message:send', { message: proto({ taskId: id }) }], ['POST', '/message:stream', { message: former({ taskId: id }) }],
  ['POST', '/message:stream', { message: proto({ taskId: id }) }], ['POST', `/tasks/${id}/pushNotificationConfigs`, { pushNotificationConfig: { url } }],
];

describe("another caller's task is not found", () => {
  /** As the owner's own at another agent, and one that never was. */
  const cases = (): [string, Client, string, string][] => [
    ['of somebody else', stranger, base, task], ['of another agent', owner, other, task], ['unknown', owner, base, '01998c00-0000-7000-8000-000000000000'], ['no id of ours', owner, base, 'no-such-task'],
  ];

  test.each([['1.0', METHODS_1_0, V1], ['0.3', METHODS_0_3, {}]] as const)('every JSON-RPC method of %s', async (_, methods, headers) => {
    for (const [what, client, at, id] of cases()) {
      for (const [method, params] of methods(id)) {
        const answer = await client.post(at, { jsonrpc: '2.0', id: 7, method, params }, { headers: { ...headers } });
        expect([what, method, codeOf(answer), answer.status]).toEqual([what, method, NOT_FOUND, 200]);
      }
    }
  });

  test.each([['1.0', '', ROUTES_1_0, V1], ['0.3', '/v1', ROUTES_0_3, {}]] as const)('every REST route of %s', async (_, prefix, routes, headers) => {
    for (const [what, client, at, id] of cases()) {
      for (const [method, path, body] of routes(id)) {
        const { status } = await client.request(method, at + prefix + path, { headers: { ...headers }, ...(body === undefined ? {} : { body }) });
        expect([what, method, path, status]).toEqual([what, method, path, 404]);
      }
    }
  });

  test('and nothing of it shows in lists, nor was anything done to it', async () => {
    const list = await stranger.post(base, { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} }, { headers: V1 });
    expect(list.body.result).toMatchObject({ tasks: [], totalSize: 0 });
    expect((await stranger.get(`${base}/tasks`, { headers: V1 })).body.tasks).toEqual([]);
    expect((await owner.get(`${base}/tasks/${task}`, { headers: V1 })).body).toMatchObject({ status: { state: 'TASK_STATE_SUBMITTED' }, history: [{}] });
    expect((await owner.get(`${base}/tasks/${task}/pushNotificationConfigs`, { headers: V1 })).body.configs).toMatchObject([{ id: 'c', url }]);
  });
});

describe('versions', () => {
  const rpc = (method: string, params: unknown) => ({ jsonrpc: '2.0', id: 1, method, params });
  const VERSION_NOT_SUPPORTED = -32009;

  test.each([
    ['1.0', { 'A2A-Version': '1.0' }, '', 'GetTask', undefined], ['1.0.1', { 'A2A-Version': '1.0.1' }, '', 'GetTask', undefined], ['1.0 by query', {}, '?A2A-Version=1.0', 'GetTask', undefined],
    ['0.3.0', { 'A2A-Version': '0.3.0' }, '', 'tasks/get', undefined], ['0.3', { 'A2A-Version': '0.3' }, '', 'tasks/get', undefined], ['absent', {}, '', 'tasks/get', undefined],
    ['empty', { 'A2A-Version': '' }, '', 'tasks/get', undefined], ['0.3 by query', {}, '?A2A-Version=0.3.0', 'tasks/get', undefined], ['the header before the query', { 'A2A-Version': '1.0' }, '?A2A-Version=0.3', 'GetTask', undefined],
    ['99.0', { 'A2A-Version': '99.0' }, '', 'GetTask', VERSION_NOT_SUPPORTED], ['99.0 by query', {}, '?A2A-Version=99.0', 'tasks/get', VERSION_NOT_SUPPORTED], ['1.1', { 'A2A-Version': '1.1' }, '', 'GetTask', VERSION_NOT_SUPPORTED],
    ['no number', { 'A2A-Version': 'latest' }, '', 'GetTask', VERSION_NOT_SUPPORTED], ['1.0 with a method of 0.3', V1, '', 'tasks/get', -32601], ['absent with a method of 1.0', {}, '', 'GetTask', -32601],
  ])('JSON-RPC: %s', async (_, headers, query, method, code) => {
    const { body } = await owner.post(base + query, rpc(method, { id: task }), { headers: headers as Record<string, string> });
    expect(body.error?.code).toBe(code);
    if (code === undefined) expect(body.result.id).toBe(task);
  });

  test.each([
    ['1.0', '', { 'A2A-Version': '1.0' }, '', 200], ['1.0.1', '', { 'A2A-Version': '1.0.1' }, '', 200], ['1.0 by query', '', {}, '?A2A-Version=1.0', 200],
    ['0.3.0', '', { 'A2A-Version': '0.3.0' }, '', 400], ['absent', '', {}, '', 400], ['99.0', '', { 'A2A-Version': '99.0' }, '', 400],
    ['0.3.0 below /v1', '/v1', { 'A2A-Version': '0.3.0' }, '', 200], ['absent below /v1', '/v1', {}, '', 200], ['0.3 by query below /v1', '/v1', {}, '?A2A-Version=0.3', 200],
    ['1.0 below /v1', '/v1', { 'A2A-Version': '1.0' }, '', 400], ['99.0 below /v1', '/v1', { 'A2A-Version': '99.0' }, '', 400], ['99.0 by query below /v1', '/v1', {}, '?A2A-Version=99.0', 400],
  ])('REST: %s', async (_, prefix, headers, query, status) => {
    const answer = await owner.get(`${base}${prefix}/tasks/${task}${query}`, { headers: headers as Record<string, string> });
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.body.id).toBe(task);
    else expect(answer.body).toMatchObject({ error: expect.anything() });
  });
});
