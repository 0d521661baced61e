/**
 * The official clients, Python and JS, of 1.0 and 0.3, over all bindings: each does the same on the same URL
 * with the same result.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client as A2AClient,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { Role, taskStateToJSON, type StreamResponse, type Task } from '@a2a-js/sdk';
import * as legacy from 'a2a-js-sdk-03/client';
import type { Message as LegacyMessage, Task as LegacyTask } from 'a2a-js-sdk-03';
import { v4 as uuidv4 } from 'uuid';
import { startServer, type TestServer } from '../../support/http-server.ts';
import { skip } from '../../support/outside.ts';
import { startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { pythonWithA2A } from '../../support/python-client.ts';
import { createSteeredAgent } from '../../support/steered-agent.ts';

const BINDINGS = ['JSONRPC', 'HTTP+JSON'] as const;
type Binding = (typeof BINDINGS)[number] | 'GRPC';
const CSV = 'a,b\n1,2\n';

const script = join(import.meta.dirname, '../../conformance/a2a/python_client.py');
const environments = await Promise.all(
  ['1.3.0', '0.3.26'].map(async (version) => ({ version, ...(await pythonWithA2A(version)) })),
);
const pythons = environments.flatMap((environment) => ('skipped' in environment ? [] : [environment]));
for (const environment of environments)
  if ('skipped' in environment) skip(`a2a-sdk ${environment.version}`, environment.skipped);

let platform: TestPlatform;
let receiver: TestServer;
let agent: string;
let token: string;

beforeAll(async () => {
  platform = await startTestPlatform({ env: { A2A_GRPC_PORT: '0' } });
  receiver = await startServer((_request, response) => void response.end());
  agent = platform.url + (await createSteeredAgent(await platform.as('builder')));
  // Starting a task needs the role builder, answering a question the role approver. A builder has both.
  ({ token } = await platform.user('builder'));
});
afterAll(async () => {
  await receiver.close();
  await platform.close();
});

/** The results of each client; `list`, and more than one push config, are not in every client. */
const expected = {
  card: 'Steered',
  blocking: ['completed', 'Hello Ada'],
  // The artifact comes as an update, or inside the task if the task was over before the stream began.
  stream: ['task', true, 'completed'],
  quiet: 'completed',
  get: 'completed',
  nonblocking: true,
  cancel: 'canceled',
  subscribe: ['task', 'canceled'],
  asked: ['input-required', 'completed', true, 'You said approve'],
  file: ['completed', CSV],
  missing: true,
};

const expectedOf = (version: '1.0' | '0.3') => ({
  ...expected,
  push: ['gone', receiver.url, ['kept']],
  listed: version === '1.0' ? true : null,
});

/** The update about the cancelled task reached the webhook, in the version of the client. */
async function expectPushed(result: Record<string, unknown>, version: '1.0' | '0.3'): Promise<void> {
  const updates = () =>
    receiver.seen
      .filter(({ body }) => body.includes(String(result['pushed'])))
      .map(({ body, headers }) => ({ update: JSON.parse(body), token: headers['x-a2a-notification-token'] }));
  const state = ({ update }: ReturnType<typeof updates>[number]) =>
    version === '1.0' ? update.statusUpdate?.status.state : update.status?.state;
  const ended = version === '1.0' ? 'TASK_STATE_CANCELED' : 'canceled';
  const pushed = await until(
    async () => updates(),
    (all) => all.some((update) => state(update) === ended),
  );
  expect(pushed.at(-1)).toMatchObject({
    token: 'opaque',
    update:
      version === '1.0'
        ? { statusUpdate: { taskId: result['pushed'] } }
        : { kind: 'task', id: result['pushed'] },
  });
}

const authorized: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('authorization', `Bearer ${token}`);
  return fetch(input, { ...init, headers });
};
const textAt = async (url: string): Promise<string> => (await fetch(url)).text();

const overGrpc = pythons.filter(
  ({ version, withoutGrpc }) => !version.startsWith('0.') && withoutGrpc === undefined,
);
for (const { version, withoutGrpc } of pythons)
  if (withoutGrpc !== undefined) skip(`a2a-sdk ${version} over GRPC`, withoutGrpc);
const runs: { version: string; python: string; binding: Binding }[] = [
  ...pythons.flatMap((environment) => BINDINGS.map((binding) => ({ ...environment, binding }))),
  ...overGrpc.map((environment) => ({ ...environment, binding: 'GRPC' as const })),
];
// `each` fails for an empty list.
if (runs.length > 0)
  test.concurrent.each(runs)(
    'the client a2a-sdk $version works over $binding',
    async ({ version, python, binding }) => {
      const env = {
        ...process.env,
        A2A_AGENT: agent,
        A2A_TOKEN: token,
        A2A_BINDING: binding,
        A2A_HOOK: receiver.url,
      };
      const { stdout } = await promisify(execFile)(python, [script], { env, timeout: 270_000 });
      const result = JSON.parse(stdout);
      expect(result.version).toBe(version);
      const wire = version.startsWith('0.') ? '0.3' : '1.0';
      expect(result).toMatchObject(expectedOf(wire));
      await expectPushed(result, wire);
    },
  );

test.concurrent.each([...BINDINGS, 'GRPC'] as const)(
  'the client @a2a-js/sdk 1.3.0 works over %s',
  async (binding) => {
    const result = await current(binding);
    expect(result).toMatchObject(expectedOf('1.0'));
    await expectPushed(result, '1.0');
  },
);

test.concurrent.each(BINDINGS)('the client @a2a-js/sdk 0.3.14 works over %s', async (binding) => {
  const result = await former(binding);
  expect(result).toMatchObject(expectedOf('0.3'));
  await expectPushed(result, '0.3');
});

async function current(binding: Binding): Promise<Record<string, unknown>> {
  const fetchImpl = authorized;
  const client: A2AClient = await new ClientFactory({
    transports: [
      {
        JSONRPC: () => new JsonRpcTransportFactory({ fetchImpl }),
        'HTTP+JSON': () => new RestTransportFactory({ fetchImpl }),
        GRPC: () => new GrpcTransportFactory(),
      }[binding](),
    ],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    // The HTTP bindings get the token by their fetch.
    clientConfig: {
      interceptors: [
        {
          before: async (args) =>
            void (args.options = {
              ...args.options,
              serviceParameters: { ...args.options?.serviceParameters, authorization: `Bearer ${token}` },
            }),
          after: async () => {},
        },
      ],
    },
  }).createFromUrl(`${agent}/`);
  const part = (
    content: NonNullable<Task['history'][number]['parts'][number]['content']>,
    mediaType = '',
    filename = '',
  ) => ({ content, metadata: undefined, filename, mediaType });
  const request = (content: Parameters<typeof part>[0], taskId = '', returnImmediately = false) => ({
    tenant: '',
    metadata: undefined,
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      historyLength: undefined,
      returnImmediately,
    },
    message: {
      messageId: uuidv4(),
      contextId: '',
      taskId,
      role: Role.ROLE_USER,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      parts: [
        part(
          content,
          content.$case === 'raw' ? 'text/csv' : 'text/plain',
          content.$case === 'raw' ? 't.csv' : '',
        ),
      ],
    },
  });
  const say = (value: string) => ({ $case: 'text' as const, value });
  // A workflow answers with a task.
  const send = async (...args: Parameters<typeof request>) =>
    (await client.sendMessage(request(...args))) as Task;
  const word = (task: Pick<Task, 'status'>) =>
    taskStateToJSON(task.status!.state).replace('TASK_STATE_', '').toLowerCase().replace('_', '-');
  const content = (task: Task) => task.artifacts[0]?.parts[0]?.content?.value;
  const kindOf = ({ payload }: StreamResponse) => payload?.$case;
  const stateIn = ({ payload }: StreamResponse) =>
    payload?.$case === 'statusUpdate' || payload?.$case === 'task' ? word(payload.value) : null;

  const done = await send(say('Ada'));
  const events: StreamResponse[] = [];
  for await (const event of client.sendMessageStream(request(say('Grace')))) events.push(event);
  const quiet: StreamResponse[] = [];
  for await (const event of client.sendMessageStream(request(say('quiet')))) quiet.push(event);
  const started = await send(say('wait'), '', true);
  const config = {
    tenant: '',
    taskId: started.id,
    url: receiver.url,
    token: 'opaque',
    authentication: undefined,
  };
  await client.createTaskPushNotificationConfig({ ...config, id: 'kept' });
  const { id: made } = await client.createTaskPushNotificationConfig({ ...config, id: 'gone' });
  const got = await client.getTaskPushNotificationConfig({ tenant: '', taskId: started.id, id: 'kept' });
  await client.deleteTaskPushNotificationConfig({ tenant: '', taskId: started.id, id: 'gone' });
  const { configs } = await client.listTaskPushNotificationConfig({
    tenant: '',
    taskId: started.id,
    pageSize: 10,
    pageToken: '',
  });
  const subscribed = client.resubscribeTask({ tenant: '', id: started.id });
  const updates = [(await subscribed.next()).value as StreamResponse];
  const cancel = word(await client.cancelTask({ tenant: '', id: started.id, metadata: undefined }));
  for await (const event of subscribed) updates.push(event);
  const question = await send(say('ask'));
  const answered = await send(say('yes'), question.id);
  const back = await send({ $case: 'raw', value: Buffer.from(CSV) });
  return {
    card: (await client.getAgentCard()).name,
    blocking: [word(done), content(done)],
    stream: [
      kindOf(events[0]!),
      events.some(
        ({ payload }) =>
          payload?.$case === 'artifactUpdate' ||
          (payload?.$case === 'task' && payload.value.artifacts.length > 0),
      ),
      stateIn(events.at(-1)!),
    ],
    quiet: stateIn(quiet.at(-1)!),
    get: word(await client.getTask({ tenant: '', id: done.id, historyLength: undefined })),
    listed:
      (
        await client.listTasks({
          tenant: '',
          contextId: '',
          status: 0,
          pageSize: 50,
          pageToken: '',
          historyLength: undefined,
          statusTimestampAfter: undefined,
          includeArtifacts: false,
        })
      ).tasks.length >= 2,
    nonblocking: ['submitted', 'working'].includes(word(started)),
    push: [made, got.url, configs.map(({ id }) => id)],
    cancel,
    subscribe: [kindOf(updates[0]!), stateIn(updates.at(-1)!)],
    pushed: started.id,
    asked: [word(question), word(answered), answered.id === question.id, content(answered)],
    file: [word(back), await textAt(String(content(back)))],
    missing: await client.getTask({ tenant: '', id: uuidv4(), historyLength: undefined }).then(
      () => false,
      (error: Error) => /not found/i.test(error.message),
    ),
  };
}

async function former(binding: Binding): Promise<Record<string, unknown>> {
  const fetchImpl = authorized;
  const client = await new legacy.ClientFactory({
    transports: [
      binding === 'JSONRPC'
        ? new legacy.JsonRpcTransportFactory({ fetchImpl })
        : new legacy.RestTransportFactory({ fetchImpl }),
    ],
    cardResolver: new legacy.DefaultAgentCardResolver({ fetchImpl }),
    preferredTransports: [binding],
  }).createFromUrl(`${agent}/`);
  type Part = LegacyMessage['parts'][number];
  const params = (part: Part, taskId?: string, blocking = true) => ({
    configuration: { blocking },
    message: {
      kind: 'message' as const,
      messageId: uuidv4(),
      role: 'user' as const,
      parts: [part],
      ...(taskId ? { taskId } : {}),
    },
  });
  const say = (text: string): Part => ({ kind: 'text', text });
  // A workflow answers with a task.
  const send = async (...args: Parameters<typeof params>) =>
    (await client.sendMessage(params(...args))) as LegacyTask;
  type Event = Awaited<ReturnType<ReturnType<typeof client.sendMessageStream>['next']>>['value'];
  const stateIn = (event: Event) => (event && 'status' in event ? event.status.state : null);
  const firstPart = (task: LegacyTask) => task.artifacts?.[0]?.parts[0];
  const content = (task: LegacyTask) => {
    const part = firstPart(task);
    return part?.kind === 'text'
      ? part.text
      : part?.kind === 'file' && 'uri' in part.file
        ? part.file.uri
        : null;
  };

  const done = await send(say('Ada'));
  const events: Event[] = [];
  for await (const event of client.sendMessageStream(params(say('Grace')))) events.push(event);
  const quiet: Event[] = [];
  for await (const event of client.sendMessageStream(params(say('quiet')))) quiet.push(event);
  const started = await send(say('wait'), undefined, false);
  const set = (id: string) =>
    client.setTaskPushNotificationConfig({
      taskId: started.id,
      pushNotificationConfig: { id, url: receiver.url, token: 'opaque' },
    });
  await set('kept');
  const configured = await set('gone');
  const got = await client.getTaskPushNotificationConfig({
    id: started.id,
    pushNotificationConfigId: 'kept',
  } as Parameters<typeof client.getTaskPushNotificationConfig>[0]);
  await client.deleteTaskPushNotificationConfig({ id: started.id, pushNotificationConfigId: 'gone' });
  const configs = await client.listTaskPushNotificationConfig({ id: started.id });
  const subscribed = client.resubscribeTask({ id: started.id });
  const updates: Event[] = [(await subscribed.next()).value];
  const cancel = (await client.cancelTask({ id: started.id })).status.state;
  for await (const event of subscribed) updates.push(event);
  const question = await send(say('ask'));
  const answered = await send(say('yes'), question.id);
  const back = await send({
    kind: 'file',
    file: { bytes: Buffer.from(CSV).toString('base64'), name: 't.csv', mimeType: 'text/csv' },
  });
  return {
    card: (await client.getAgentCard()).name,
    blocking: [done.status.state, content(done)],
    stream: [
      events[0]?.kind,
      events.some(
        (event) =>
          event?.kind === 'artifact-update' || (event?.kind === 'task' && (event.artifacts ?? []).length > 0),
      ),
      stateIn(events.at(-1)),
    ],
    quiet: stateIn(quiet.at(-1)),
    get: (await client.getTask({ id: done.id })).status.state,
    listed: null,
    nonblocking: ['submitted', 'working'].includes(started.status.state),
    push: [
      configured.pushNotificationConfig.id,
      got.pushNotificationConfig.url,
      configs.map(({ pushNotificationConfig }) => pushNotificationConfig.id),
    ],
    cancel,
    subscribe: [updates[0]?.kind, stateIn(updates.at(-1))],
    pushed: started.id,
    asked: [question.status.state, answered.status.state, answered.id === question.id, content(answered)],
    file: [back.status.state, await textAt(String(content(back)))],
    missing: await client.getTask({ id: uuidv4() }).then(
      () => false,
      (error: Error) => /not found/i.test(error.message),
    ),
  };
}
