/** A2A over gRPC: the official JS client, two copies of the API on one database, and refusals. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  AgentCard,
  Role,
  TaskState,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
} from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, type Client as A2AClient } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { decodeErrorInfo, decodeStatus } from '@a2a-js/sdk/errors/grpc';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import {
  credentials,
  makeGenericClientConstructor,
  Metadata,
  status,
  type Client as GrpcClient,
  type ServiceError,
} from '@grpc/grpc-js';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { workflowAgent } from '../../support/workflow-agent.ts';
import { humanTask } from '../../support/definitions.ts';

let platform: TestPlatform;
let copy: TestApp;
let builder: Client;
let token: string;
let plain: string;
let human: string;

const V1 = { 'A2A-Version': '1.0' };
let counter = 0;
const messageId = (): string => `g-${process.pid}-${++counter}`;
const open: GrpcClient[] = [];

beforeAll(async () => {
  platform = await startTestPlatform({ env: { A2A_GRPC_PORT: '0' } });
  copy = await anotherCopy();
  builder = await platform.as('builder');
  token = (await platform.user('builder')).token;
  plain = await agentOf({ do: [{ answer: { set: { text: '${ "Hello " + .text }' } } }] });
  human = await agentOf({
    do: [{ review: humanTask('Approve it?') }, { done: { set: { text: '${ .decision }' } } }],
  });
});
afterAll(async () => {
  for (const client of open) client.close();
  await copy.close();
  await platform.close();
});

const anotherCopy = () =>
  startTestApp({
    databaseUrl: platform.databaseUrl,
    temporal: platform.app.deps.temporal,
    env: { BASE_URL: platform.url, A2A_GRPC_PORT: '0' },
  });

const agentOf = (
  definition: unknown,
  more?: Record<string, unknown>,
  configuration?: Record<string, unknown>,
): Promise<string> => workflowAgent(builder, definition, more, configuration);

const grpcUrl = (app: TestApp): string => app.app.deps.grpc.url ?? '';

/** The official client, with address and tenant of the card. */
async function official(agent: string, as = token): Promise<A2AClient> {
  const authorized: typeof fetch = (url, init) =>
    fetch(url, {
      ...init,
      headers: { ...Object.fromEntries(new Headers(init?.headers)), authorization: `Bearer ${as}` },
    });
  const card = await new DefaultAgentCardResolver({ fetchImpl: authorized }).resolve(
    `${platform.url}/api/v1/a2a/${agent}/`,
  );
  const client = await new ClientFactory({
    transports: [new GrpcTransportFactory()],
    preferredTransports: ['GRPC'],
    clientConfig: {
      interceptors: [
        {
          before: async (args) =>
            void (args.options = {
              ...args.options,
              serviceParameters: { ...args.options?.serviceParameters, authorization: `Bearer ${as}` },
            }),
          after: async () => {},
        },
      ],
    },
  }).createFromAgentCard(card);
  expect(client.protocolVersion).toBe('1.0');
  return client;
}

function request(
  text: string,
  more: Partial<NonNullable<SendMessageRequest['message']>> = {},
): SendMessageRequest {
  return {
    tenant: '',
    configuration: undefined,
    metadata: undefined,
    message: {
      messageId: messageId(),
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...more,
    },
  };
}

type Method = keyof typeof A2AService;
interface Refusal {
  code: number;
  details: string;
  reason: string | undefined;
  types: string[];
}

/** A single call without the client; metadata as given. */
async function call(
  method: Method,
  body: object,
  headers: Record<string, string> = {},
  options: { address?: string; bytes?: Buffer; deadlineMs?: number } = {},
): Promise<{ ok: any } | Refusal> {
  const { path, requestSerialize, responseDeserialize } = A2AService[method];
  const client = new (makeGenericClientConstructor({}, 'raw'))(
    options.address ?? grpcUrl(platform),
    credentials.createInsecure(),
  );
  open.push(client);
  const metadata = new Metadata();
  const all: Record<string, string> = { authorization: `Bearer ${token}`, 'a2a-version': '1.0', ...headers };
  for (const [name, value] of Object.entries(all)) if (value !== '') metadata.set(name, value);
  const serialize = (value: object): Buffer => options.bytes ?? requestSerialize(value as never);
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      serialize,
      responseDeserialize as (bytes: Buffer) => unknown,
      body,
      metadata,
      { deadline: Date.now() + (options.deadlineMs ?? 240_000) },
      (error, ok) => resolve(error ? refusalOf(error) : { ok }),
    );
  });
}

function refusalOf({ code, details, metadata }: ServiceError): Refusal {
  const [blob] = metadata.get('grpc-status-details-bin');
  const listed = blob === undefined ? [] : decodeStatus(Buffer.from(blob)).details;
  const info = listed.find(({ typeUrl }) => typeUrl.endsWith('ErrorInfo'));
  return {
    code,
    details,
    reason: info && decodeErrorInfo(info.value).reason,
    types: listed.map(({ typeUrl }) => typeUrl.split('.').at(-1) ?? ''),
  };
}

const statesOf = (events: StreamResponse[]) =>
  events.flatMap(({ payload }) =>
    payload?.$case === 'task' || payload?.$case === 'statusUpdate' ? [payload.value.status?.state] : [],
  );

describe('the official client over gRPC', () => {
  test('finds the binding in the card, with the agent as tenant, also on another copy', async () => {
    const { body } = await builder.get(`/api/v1/a2a/${plain}/.well-known/agent-card.json`, { headers: V1 });
    expect(body.supportedInterfaces).toContainEqual({
      url: grpcUrl(platform),
      protocolBinding: 'GRPC',
      protocolVersion: '1.0',
      tenant: plain,
    });
    expect(grpcUrl(platform)).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(grpcUrl(copy)).not.toBe(grpcUrl(platform));
    const without = await startTestApp({
      databaseUrl: platform.databaseUrl,
      env: { BASE_URL: platform.url },
    });
    try {
      const card = (
        await (
          await without.as(await platform.user('builder'))
        ).get(`/api/v1/a2a/${plain}/.well-known/agent-card.json`, { headers: V1 })
      ).body;
      expect(card.supportedInterfaces.map((each: any) => each.protocolBinding)).not.toContain('GRPC');
    } finally {
      await without.close();
    }
  });

  test('sends, gets and lists; a repeated message is the same task over any binding', async () => {
    const client = await official(plain);
    const sent = request('Ada', { contextId: '' });
    const task = (await client.sendMessage(sent)) as Task;
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(task.artifacts[0]?.parts[0]?.content).toEqual({ $case: 'text', value: 'Hello Ada' });
    expect(await client.getTask({ tenant: '', id: task.id, historyLength: 0 })).toMatchObject({
      id: task.id,
      history: [],
    });
    const listed = await client.listTasks({
      tenant: '',
      contextId: task.contextId,
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: '',
      statusTimestampAfter: undefined,
    });
    expect(listed).toMatchObject({ totalSize: 1, pageSize: 50, tasks: [{ id: task.id }] });
    const again = await builder.post(
      `/api/v1/a2a/${plain}/message:send`,
      { message: { messageId: sent.message?.messageId, role: 'ROLE_USER', parts: [{ text: 'Ada' }] } },
      { headers: V1 },
    );
    expect(again.body.task.id).toBe(task.id);
    expect(((await client.sendMessage(sent)) as Task).id).toBe(task.id);
  });

  test('gets a question in a stream, answers it on another copy, and sees both go on', async () => {
    const client = await official(human);
    const events: StreamResponse[] = [];
    for await (const event of client.sendMessageStream(request('please'))) events.push(event);
    expect(statesOf(events).at(-1)).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const [first] = events;
    const id = first?.payload?.$case === 'task' ? first.payload.value.id : '';
    const seen: StreamResponse[] = [];
    const following = (async () => {
      for await (const event of client.resubscribeTask({ tenant: '', id })) seen.push(event);
    })();
    await until(
      async () => seen.length,
      (length) => length > 0,
    );
    const answer = await call(
      'sendMessage',
      { ...request('yes', { taskId: id }), tenant: human },
      {},
      { address: grpcUrl(copy) },
    );
    expect(answer).toMatchObject({ ok: { payload: { $case: 'task', value: { id } } } });
    await following;
    expect(statesOf(seen)[0]).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(statesOf(seen).at(-1)).toBe(TaskState.TASK_STATE_COMPLETED);
  });

  test('manages push configurations, gets the extended card, and cancels', async () => {
    const client = await official(human);
    const task = (await client.sendMessage(request('please'))) as Task;
    const config = {
      tenant: '',
      taskId: task.id,
      id: 'mine',
      url: 'https://example.com/hook',
      token: 't',
      authentication: undefined,
    };
    const page = { tenant: '', taskId: task.id, pageSize: 0, pageToken: '' };
    const configs = async () => (await client.listTaskPushNotificationConfig(page)).configs;
    expect(await client.createTaskPushNotificationConfig(config)).toMatchObject({
      id: 'mine',
      tenant: human,
    });
    expect(
      await client.getTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'mine' }),
    ).toMatchObject({ url: config.url });
    expect(await configs()).toHaveLength(1);
    await client.deleteTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'mine' });
    expect(await configs()).toEqual([]);
    expect(
      AgentCard.toJSON(((await call('getExtendedAgentCard', { tenant: human })) as { ok: AgentCard }).ok),
    ).toMatchObject({ name: 'An agent', securitySchemes: { bearer: {} } });
    expect((await client.cancelTask({ tenant: '', id: task.id, metadata: undefined })).status?.state).toBe(
      TaskState.TASK_STATE_CANCELED,
    );
    await expect(client.cancelTask({ tenant: '', id: task.id, metadata: undefined })).rejects.toMatchObject({
      name: 'TaskNotCancelableError',
      status: status.FAILED_PRECONDITION,
    });
  });

  test("transfers bytes both ways, beyond a client's default limit", async () => {
    const bytes = Buffer.alloc(5 * 1024 * 1024, 7);
    const echo = await agentOf(
      { do: [{ back: { set: { size: '${ .files[0].size }', name: '${ .files[0].name }' } } }] },
      { modalities: ['text', 'file', 'data'] },
    );
    const client = await official(echo);
    const sent = request('', {
      parts: [
        {
          content: { $case: 'raw', value: bytes },
          metadata: undefined,
          filename: 'big.bin',
          mediaType: 'application/octet-stream',
        },
      ],
    });
    const task = (await client.sendMessage(sent)) as Task;
    expect(task.artifacts[0]?.parts[0]?.content).toEqual({
      $case: 'data',
      value: { size: bytes.length, name: 'big.bin' },
    });
  });
});

describe('a gRPC connection that ends', () => {
  test('by a broken stream or a deadline leaves the task at work', async () => {
    const client = await official(human);
    let id = '';
    for await (const { payload } of client.sendMessageStream(request('please'))) {
      if (payload?.$case === 'task') id = payload.value.id;
      break;
    }
    const task = await until(
      async () => client.getTask({ tenant: '', id }),
      ({ status: now }) => now?.state === TaskState.TASK_STATE_INPUT_REQUIRED,
    );
    expect(task.id).toBe(id);
    // No response comes in time: the client gives up, and the task continues.
    const long = await agentOf({ do: [{ sleep: { wait: { minutes: 10 } } }] });
    const sent = request('work');
    expect(await call('sendMessage', { ...sent, tenant: long }, {}, { deadlineMs: 6_000 })).toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    });
    const patient = await official(long);
    const all = () =>
      patient.listTasks({
        tenant: '',
        contextId: '',
        status: TaskState.TASK_STATE_UNSPECIFIED,
        pageToken: '',
        statusTimestampAfter: undefined,
      });
    const {
      tasks: [working],
    } = await until(all, ({ tasks }) => tasks[0]?.status?.state === TaskState.TASK_STATE_WORKING);
    const again = (await patient.sendMessage({
      ...sent,
      configuration: {
        acceptedOutputModes: [],
        taskPushNotificationConfig: undefined,
        returnImmediately: true,
      },
    })) as Task;
    expect([again.id, again.status?.state]).toEqual([working?.id, TaskState.TASK_STATE_WORKING]);
    await patient.cancelTask({ tenant: '', id: again.id, metadata: undefined });
  });

  test('because the server stops reports UNAVAILABLE, so clients reconnect', async () => {
    const client = await official(human);
    const task = (await client.sendMessage(request('please'))) as Task;
    const stopping = await anotherCopy();
    const { path, requestSerialize, responseDeserialize } = A2AService.subscribeToTask;
    const raw = new (makeGenericClientConstructor({}, 'raw'))(
      grpcUrl(stopping),
      credentials.createInsecure(),
    );
    open.push(raw);
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${token}`);
    metadata.set('a2a-version', '1.0');
    const stream = raw.makeServerStreamRequest(
      path,
      requestSerialize as (value: object) => Buffer,
      responseDeserialize,
      { tenant: human, id: task.id },
      metadata,
    );
    const ended = new Promise<ServiceError>((resolve) =>
      stream.on('error', resolve as (error: Error) => void).on('status', resolve as (error: object) => void),
    );
    await new Promise((resolve) => stream.once('data', resolve));
    await stopping.close();
    expect(await ended).toMatchObject({ code: status.UNAVAILABLE });
    expect(await client.getTask({ tenant: '', id: task.id })).toMatchObject({
      status: { state: TaskState.TASK_STATE_INPUT_REQUIRED },
    });
  });
});

describe('a gRPC call is refused', () => {
  test('without a valid token', async () => {
    for (const authorization of [
      '',
      'Bearer nonsense',
      `Basic ${token}`,
      `Bearer ${token.slice(0, -4)}AAAA`,
    ]) {
      const answer = await call('getTask', { tenant: plain, id: 'x' }, { authorization });
      expect(answer).toMatchObject({ code: status.UNAUTHENTICATED, types: [] });
    }
    const viewer = (await platform.user('viewer')).token;
    const open_ = await agentOf({ do: [{ answer: { set: { text: 'hi' } } }] }, { visibility: 'public' });
    expect(
      await call('sendMessage', { ...request('hi'), tenant: open_ }, { authorization: `Bearer ${viewer}` }),
    ).toMatchObject({ code: status.PERMISSION_DENIED });
    expect(
      await call(
        'listTasks',
        { tenant: open_, contextId: '', status: 0, pageToken: '' },
        { authorization: `Bearer ${viewer}` },
      ),
    ).toMatchObject({ ok: { totalSize: 0 } });
  });

  test('beyond the limit of calls a minute, which HTTP and gRPC share', async () => {
    const limited = await startTestApp({
      databaseUrl: platform.databaseUrl,
      env: { BASE_URL: platform.url, A2A_GRPC_PORT: '0', RATE_LIMIT_PER_MINUTE: '3' },
    });
    try {
      const user = await platform.createUser({ roles: ['viewer'] });
      const rpc = await limited.as(user);
      const codes = new Set<unknown>();
      // More than twice the limit, because one new minute may begin in between.
      for (let i = 0; i < 8; i++) {
        codes.add(
          (
            await rpc.post(
              `/api/v1/a2a/${plain}`,
              { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } },
              { headers: V1 },
            )
          ).status,
        );
        const answer = await call(
          'getTask',
          { tenant: plain, id: 'x' },
          { authorization: `Bearer ${user.token}` },
          { address: grpcUrl(limited) },
        );
        codes.add('code' in answer && answer.code);
      }
      expect([...codes]).toEqual(
        expect.arrayContaining([404, status.NOT_FOUND, 429, status.RESOURCE_EXHAUSTED]),
      );
    } finally {
      await limited.close();
    }
  });

  test('for objects of another caller, and for unknown ones', async () => {
    const client = await official(plain);
    const task = (await client.sendMessage(request('Ada'))) as Task;
    const other = await platform.createUser({ roles: ['builder'] });
    const shared = { authorization: `Bearer ${other.token}` };
    // Other users see no private agent, and no task of an agent that they do see.
    expect(await call('getTask', { tenant: plain, id: task.id }, shared)).toMatchObject({
      code: status.NOT_FOUND,
      reason: undefined,
    });
    expect(await call('getTask', { tenant: human, id: task.id })).toMatchObject({
      code: status.NOT_FOUND,
      reason: 'TASK_NOT_FOUND',
      types: ['ErrorInfo'],
    });
    for (const tenant of ['', 'nonsense', '0190a0a0-0000-7000-8000-000000000000'])
      expect(await call('getTask', { tenant, id: task.id })).toMatchObject({
        code: status.NOT_FOUND,
        reason: undefined,
      });
    const public_ = await agentOf({ do: [{ review: humanTask('Well?') }] }, { visibility: 'public' });
    const foreign = ((await (await official(public_)).sendMessage(request('Ada'))) as Task).id;
    const config = {
      tenant: public_,
      taskId: foreign,
      id: 'mine',
      url: 'https://example.com/hook',
      token: '',
      authentication: undefined,
    };
    const bodies: [Method, object][] = [
      ['getTask', { tenant: public_, id: foreign }],
      ['cancelTask', { tenant: public_, id: foreign }],
      ['subscribeToTask', { tenant: public_, id: foreign }],
      ['sendMessage', { ...request('yes', { taskId: foreign }), tenant: public_ }],
      ['sendStreamingMessage', { ...request('yes', { taskId: foreign }), tenant: public_ }],
      ['createTaskPushNotificationConfig', config],
      ['getTaskPushNotificationConfig', config],
      ['deleteTaskPushNotificationConfig', config],
      ['listTaskPushNotificationConfigs', { tenant: public_, taskId: foreign, pageSize: 0, pageToken: '' }],
    ];
    for (const [method, body] of bodies)
      expect([method, await call(method, body, shared)]).toEqual([
        method,
        expect.objectContaining({ code: status.NOT_FOUND, reason: 'TASK_NOT_FOUND' }),
      ]);
  });

  test.each(['', '0.3', '99.0', 'nonsense'])('for the version %p', async (version) => {
    expect(await call('getTask', { tenant: plain, id: 'x' }, { 'a2a-version': version })).toMatchObject({
      code: status.FAILED_PRECONDITION,
      reason: 'VERSION_NOT_SUPPORTED',
    });
  });

  test('but not for version 1.0.1, which is 1.0', async () => {
    expect(await call('getTask', { tenant: plain, id: 'x' }, { 'a2a-version': '1.0.1' })).toMatchObject({
      code: status.NOT_FOUND,
      reason: 'TASK_NOT_FOUND',
    });
  });

  test('for an invalid message, with each mistake', async () => {
    expect(await call('sendMessage', { ...request('x', { parts: [] }), tenant: plain })).toMatchObject({
      code: status.INVALID_ARGUMENT,
      types: ['ErrorInfo', 'BadRequest'],
      details: expect.stringContaining('parts'),
    });
    expect(await call('sendMessage', { ...request('x', { messageId: '' }), tenant: plain })).toMatchObject({
      code: status.INVALID_ARGUMENT,
    });
    expect(await call('sendMessage', { ...request('x'), message: undefined, tenant: plain })).toMatchObject({
      code: status.INVALID_ARGUMENT,
    });
    expect(await call('sendMessage', { ...request('x', { messageId: 'm\0' }), tenant: plain })).toMatchObject(
      { code: status.INVALID_ARGUMENT },
    );
    expect(
      await call('listTasks', { tenant: plain, contextId: '\0', status: 0, pageToken: '' }),
    ).toMatchObject({ code: status.INVALID_ARGUMENT });
    const nested = (depth: number): unknown => Array.from({ length: depth }).reduce((inner) => [inner], 1);
    const data = (value: unknown) => ({
      ...request(''),
      tenant: plain,
      message: request('', {
        parts: [{ content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: '' }],
      }).message,
    });
    for (const depth of [70, 500])
      expect(await call('sendMessage', data(nested(depth)))).toMatchObject({
        code: status.INVALID_ARGUMENT,
        details: expect.stringContaining('deep'),
      });
    expect(await call('sendMessage', data({ n: Infinity }))).toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(await call('getTask', { tenant: plain, id: 'x', historyLength: -1 })).toMatchObject({
      code: status.INVALID_ARGUMENT,
    });
    expect(
      await call('listTasks', { tenant: plain, contextId: '', status: 0, pageToken: '', pageSize: 101 }),
    ).toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(await call('getTask', {}, {}, { bytes: Buffer.from('not a message') })).toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining('does not have the type that the method expects'),
    });
    expect(await call('getTask', {}, {}, { bytes: Buffer.alloc(17 * 1024 * 1024) })).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
    });
  });

  test('for a missing extension, and for a capability that the agent lacks', async () => {
    const uri = 'urn:test:needed';
    const picky = await agentOf(
      { do: [{ answer: { set: { text: 'hi' } } }] },
      { capabilities_streaming: false, capabilities_push: false },
      { a2a: { extensions: [{ uri, required: true }] } },
    );
    expect(await call('sendMessage', { ...request('hi'), tenant: picky })).toMatchObject({
      code: status.FAILED_PRECONDITION,
      reason: 'EXTENSION_SUPPORT_REQUIRED',
    });
    expect(
      await call(
        'sendMessage',
        { ...request('hi'), tenant: picky },
        { 'a2a-extensions': `urn:other, ${uri}` },
      ),
    ).toHaveProperty('ok.payload.$case', 'task');
    expect(await call('subscribeToTask', { tenant: picky, id: 'x' })).toMatchObject({
      code: status.FAILED_PRECONDITION,
      reason: 'UNSUPPORTED_OPERATION',
    });
    expect(
      await call('listTaskPushNotificationConfigs', {
        tenant: picky,
        taskId: 'x',
        pageSize: 0,
        pageToken: '',
      }),
    ).toMatchObject({ code: status.FAILED_PRECONDITION, reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED' });
  });
});
