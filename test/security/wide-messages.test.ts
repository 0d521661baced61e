/**
 * A2A messages that are wide, compressed or many: what they may hold of this process, over gRPC as over HTTP.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { connect, constants, type ClientHttp2Session } from 'node:http2';
import { gzipSync } from 'node:zlib';

import { listenGrpc, type GrpcServer } from '../../api/a2a/grpc-server.ts';
import { grpcStatusOf } from '../support/grpc-status.ts';
import { agentBody } from '../support/agent-body.ts';
import { overloaded, type LoadGuard } from '../../api/load-guard.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { until } from '../support/platform.ts';
import { threadClock } from '../support/machine.ts';

const [INVALID_ARGUMENT, NOT_FOUND, RESOURCE_EXHAUSTED, UNAVAILABLE] = ['3', '5', '8', '14'];
const MEBIBYTE = 1024 * 1024;
const LIMIT = 5;
const answerLimit = 64 * 1024;
let app: TestApp;
let server: GrpcServer;
let agent: string;
let owner: TestUser;
const sessions: ClientHttp2Session[] = [];

beforeAll(async () => {
  app = await startTestApp({ env: { REQUESTS_PER_USER: String(LIMIT) } });
  server = await listenGrpc(app.app.deps, { host: '127.0.0.1', port: 0, unreadMs: 500 });
  owner = await app.createUser({ roles: ['builder'] });
  agent = (await (await app.as(owner)).post('/agents', agentBody({ visibility: 'public' }))).body.id;
});
afterAll(async () => {
  for (const session of sessions) session.destroy();
  await server.stop(1_000);
  await app.close();
});

function session(settings: { initialWindowSize?: number } = {}): ClientHttp2Session {
  const opened = connect(`http://127.0.0.1:${server.port}`, { settings });
  opened.on('error', () => {});
  sessions.push(opened);
  return opened;
}

const token = async (): Promise<string> => (await app.createUser({ roles: ['builder'] })).token;

interface Sending {
  client?: ClientHttp2Session;
  headers?: Record<string, string>;
  /** Sent after the message instead of the end of the stream. */
  more?: Buffer | null;
}

interface Sent {
  /** The status, or `reset`. */
  status: Promise<string>;
  leave: () => void;
  /** Whether the stream is over. */
  isClosed: () => boolean;
}

function framed(message: Uint8Array, compressed = false): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(compressed ? 1 : 0);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function send(as: string, method: string, frame: Buffer, { client, headers, more }: Sending = {}): Sent {
  const stream = (client ?? session()).request({
    ':method': 'POST',
    ':path': `/lf.a2a.v1.A2AService/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
    'a2a-version': '1.0',
    authorization: `Bearer ${as}`,
    ...headers,
  });
  const status = grpcStatusOf(stream, 'reset');
  stream.resume();
  stream.write(frame);
  if (more === undefined) stream.end();
  else if (more !== null) stream.write(more);
  return { status, leave: () => stream.close(constants.NGHTTP2_CANCEL), isClosed: () => stream.closed };
}

// Protobuf by hand: what no client would write.
const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
const field = (number: number, bytes: Uint8Array | string): Buffer =>
  Buffer.concat([
    Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]),
    Buffer.from(bytes as string),
  ]);
/** The largest message of entries that take two bytes each. */
const empties = (number: number): Buffer =>
  Buffer.alloc(15.5 * MEBIBYTE, Buffer.from([...varint(number * 8 + 2), 0]));
const toAgent = (...fields: Buffer[]): Buffer => Buffer.concat([field(1, agent), ...fields]);
/** Of a message's metadata. */
const listOfNulls = (): Buffer => field(1, Buffer.concat([field(1, 'a'), field(2, field(6, empties(1)))]));

test.each([
  ['parts', () => toAgent(field(2, empties(5)))],
  ['extensions', () => toAgent(field(2, empties(7)))],
  ['tasks that it refers to', () => toAgent(field(2, empties(8)))],
  ['output modes', () => toAgent(field(3, empties(1)))],
  ['messages in one', () => toAgent(empties(2))],
  ['configurations', () => toAgent(empties(3))],
  ['contents of a part', () => toAgent(field(2, field(5, empties(1))))],
  ['unknown fields', () => toAgent(empties(15))],
  [
    'parts after metadata that ends early',
    () => toAgent(field(2, field(6, Buffer.concat([Buffer.from([0]), empties(5)])))),
  ],
  ['groups', () => toAgent(Buffer.alloc(15 * MEBIBYTE, Buffer.from([0x7b, 0x7c])))],
  ['lists inside of each other', () => toAgent(field(4, nested(5_000)))],
  ['nulls in a list', () => toAgent(field(4, listOfNulls()))],
  ['names', () => toAgent(field(4, empties(1)))],
  ['values of a name', () => toAgent(field(4, field(1, empties(2))))],
  ['kinds of a value', () => toAgent(field(4, field(1, field(2, empties(3)))))],
])('a gRPC message with 8 million %s is refused before it is decoded', async (_name, bytes) => {
  const frame = framed(bytes());
  const as = await token();
  const spentMs = threadClock();
  const sent = send(as, 'SendMessage', frame);
  expect((await app.anonymous.get('/healthz')).status).toBe(200);
  expect(await sent.status).toBe(INVALID_ARGUMENT);
  // It took up to 43 s, and 4 GB.
  expect(spentMs()).toBeLessThan(5_000);
});

function nested(levels: number): Buffer {
  let list: Buffer = Buffer.alloc(0);
  for (let level = 0; level < levels; level += 1) list = field(6, field(1, list));
  return field(1, Buffer.concat([field(1, 'a'), field(2, list)]));
}

test('a message that its method does not expect, or that is cut off, is refused', async () => {
  const as = await token();
  for (const [method, bytes] of [
    ['GetTask', empties(2)],
    ['ListTasks', field(7, empties(3))],
    ['SubscribeToTask', empties(9)],
    ['CreateTaskPushNotificationConfig', field(6, empties(1))],
    ['CancelTask', field(3, Buffer.from([10, 200]))],
    ['SendStreamingMessage', Buffer.from([18, 255, 255, 255, 255, 255, 1])],
    ['SendMessage', Buffer.from([18])],
  ] as const)
    expect([method, await send(as, method, framed(bytes)).status]).toEqual([method, INVALID_ARGUMENT]);
});

test('a message with 1,000 parts of four fields is taken, over gRPC and over HTTP', async () => {
  const client = await app.as(await app.createUser({ roles: ['builder'] }));
  const parts = Array.from({ length: 1_000 }, () => ({ text: 'a', filename: 'b', metadata: { c: [1, {}] } }));
  // A task that is not there: the last check before one is made.
  const message = { messageId: 'm', role: 'ROLE_USER', taskId: crypto.randomUUID(), parts };
  const bytes = A2AService.sendMessage.requestSerialize({ ...protoMessage(message), tenant: agent } as never);
  expect(await send(await token(), 'SendMessage', framed(bytes)).status).toBe(NOT_FOUND);
  const reply = await client.post(
    `/a2a/${agent}/message:send`,
    { message },
    { headers: { 'a2a-version': '1.0' } },
  );
  expect(reply.status).toBe(404);
});

function protoMessage(message: { parts: { text: string }[] }): object {
  return {
    configuration: undefined,
    metadata: undefined,
    message: {
      contextId: '',
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...message,
      role: 1,
      parts: message.parts.map(({ text, ...part }) => ({
        mediaType: '',
        ...part,
        content: { $case: 'text', value: text },
      })),
    },
  };
}

/** Many entries, or as many as are read at all. */
const many = (text: string, count = 2_500_000): string => `[${`${text},`.repeat(count - 1)}${text}]`;
const some = (text: string): string => many(text, 400_000);
const manyKeys = (count = 100_000): string =>
  `{${Array.from({ length: count }, (_, index) => `"a${index}":0`).join(',')}}`;
const rpc = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
const v1 = (inner: string): string => `{"message":{"messageId":"m","role":"ROLE_USER",${inner}}}`;
const v03 = (inner: string): string => `{"message":{"messageId":"m","role":"user",${inner}}}`;

test.each([
  ['/message:send', '1.0', v1(`"parts":${many('{}')}`)],
  ['/message:stream', '1.0', v1(`"parts":${many('{}')}`)],
  ['/message:send', '1.0', v1(`"parts":[{"text":"a"}],"extensions":${some('""')}`)],
  ['/message:send', '1.0', v1(`"parts":[{"text":"a"}],"referenceTaskIds":${some('1')}`)],
  ['/message:send', '1.0', `{"message":${manyKeys()}}`],
  ['/message:send', '1.0', `{"configuration":{"acceptedOutputModes":${some('{}')}}}`],
  ['/message:send', '1.0', v1(`"metadata":${manyKeys(1_000_000)}`)],
  ['/message:send', '1.0', v1(`"parts":[{"data":${many('0')}}]`)],
  ['/tasks/x:cancel', '1.0', manyKeys()],
  ['/tasks/x/pushNotificationConfigs', '1.0', `{"authentication":${manyKeys()}}`],
  ['', '1.0', rpc('SendMessage', v1(`"parts":${many('{}')}`))],
  ['', '1.0', rpc('SendStreamingMessage', v1(`"parts":${some('{}')}`))],
  ['', '1.0', rpc('GetTask', manyKeys())],
  ['', '0.3', rpc('message/send', v03(`"parts":${some('{"kind":"a"}')}`))],
  ['', '0.3', rpc('message/stream', v03(`"parts":${some('0')}`))],
  ['', '0.3', rpc('tasks/pushNotificationConfig/set', `{"pushNotificationConfig":${manyKeys()}}`)],
  ['/v1/message:send', '0.3', v03(`"parts":${some('{}')}`)],
  ['/v1/message:send', '0.3', `{"request":{"message_id":"m","role":"ROLE_USER","content":${many('{}')}}}`],
  ['/v1/message:stream', '0.3', v1(`"content":[{"file":${manyKeys()}}]`)],
  ['/v1/tasks/x/pushNotificationConfigs', '0.3', `{"config":${manyKeys()}}`],
])('a wide body to %s of A2A %s is refused, with few errors: %#', async (path, version, body) => {
  const client = await app.as(await app.createUser({ roles: ['builder'] }));
  const spentMs = threadClock();
  const headers = { 'content-type': 'application/json', 'a2a-version': version };
  const reply = await client.post(`/a2a/${agent}${path}`, body, { headers });
  expect(reply.status).toBe(path === '' ? 200 : 400);
  if (path === '') expect([-32602, -32700]).toContain(reply.body.error.code);
  expect(JSON.stringify(reply.body).length).toBeLessThan(answerLimit);
  expect(spentMs()).toBeLessThan(10_000);
});

test('large gRPC messages count as work of their caller until they are refused, small ones not', async () => {
  const as = await token();
  const frame = framed(toAgent(field(2, field(1, Buffer.alloc(10 * MEBIBYTE, 97)))));
  const statuses: string[] = [];
  for (let round = 0; round < 20 && !statuses.includes(RESOURCE_EXHAUSTED); round += 1) {
    const calls = Array.from({ length: LIMIT - 1 }, () => send(as, 'SendMessage', frame).status);
    statuses.push(...(await Promise.all(calls)));
  }
  expect(new Set(statuses)).toEqual(new Set([INVALID_ARGUMENT, RESOURCE_EXHAUSTED]));
  expect(await send(as, 'GetTask', framed(toAgent(field(2, 'x')))).status).toBe(NOT_FOUND);
  expect(await send(await token(), 'GetTask', framed(toAgent(field(2, 'x')))).status).toBe(NOT_FOUND);
});

test('unfinished gRPC messages hold at most 64 MiB for each user, also compressed ones', async () => {
  const app64 = await startTestApp({ databaseUrl: app.databaseUrl, env: { BASE_URL: app.env.BASE_URL } });
  const wide = await listenGrpc(app64.app.deps, { host: '127.0.0.1', port: 0 });
  const to = (): ClientHttp2Session => {
    const opened = connect(`http://127.0.0.1:${wide.port}`);
    opened.on('error', () => {});
    sessions.push(opened);
    return opened;
  };
  try {
    const plain = framed(Buffer.alloc(15 * MEBIBYTE, 1)).subarray(0, -1);
    // Complete, but the stream is not over.
    const packed = framed(
      gzipSync(toAgent(field(3, field(2, field(4, Buffer.alloc(15 * MEBIBYTE, 97)))))),
      true,
    );
    const cases = [
      [plain, {}],
      [packed, { 'grpc-encoding': 'gzip' }],
    ] as const;
    for (const [frame, headers] of cases) {
      const as = await token();
      const calls = Array.from({ length: 7 }, () =>
        send(as, 'SendMessage', frame, { client: to(), headers, more: null }),
      );
      const refused: string[] = [];
      for (const { status } of calls) void status.then((code) => refused.push(code));
      await until(
        async () => refused.length,
        (count) => count >= 3,
      );
      expect(new Set(refused)).toEqual(new Set([RESOURCE_EXHAUSTED]));
      const small = send(await token(), 'GetTask', framed(toAgent(field(2, 'x'))), { client: to() });
      expect(await small.status).toBe(NOT_FOUND);
      for (const { leave } of calls) leave();
      const asBefore = async (): Promise<string> =>
        send(as, 'SendMessage', framed(toAgent(field(2, field(1, 'a'.repeat(MEBIBYTE))))), { client: to() })
          .status;
      expect(await until(asBefore, (code) => code === INVALID_ARGUMENT)).toBe(INVALID_ARGUMENT);
    }
  } finally {
    await wide.stop(1_000);
    await app64.close();
  }
});

test('a strained process takes small gRPC messages, and refuses large ones while they arrive', async () => {
  const { load } = app.app.deps;
  const strained: LoadGuard = {
    ...load,
    checkBody(bytes) {
      if (bytes >= 64 * 1024) throw overloaded();
    },
  };
  app.app.deps.load = strained;
  try {
    const as = await token();
    const large = framed(Buffer.alloc(15 * MEBIBYTE)).subarray(0, MEBIBYTE);
    expect(await send(as, 'SendMessage', large, { more: null }).status).toBe(UNAVAILABLE);
    expect(await send(as, 'GetTask', framed(toAgent(field(2, 'x')))).status).toBe(NOT_FOUND);
  } finally {
    app.app.deps.load = load;
  }
});

test('gRPC calls of a user count with their requests, until their answers are read', async () => {
  const user = await app.createUser({ roles: ['builder'] });
  const client = await app.as(user);
  // They wait for the rest of their messages.
  const waiting = Array.from({ length: LIMIT }, () =>
    send(user.token, 'GetTask', Buffer.from([0]), { more: null }),
  );
  const state = async (): Promise<number> => (await client.get('/users/me')).status;
  expect(await until(state, (status) => status === 429)).toBe(429);
  expect(await send(user.token, 'GetTask', framed(toAgent(field(2, 'x')))).status).toBe(RESOURCE_EXHAUSTED);
  expect(await send(await token(), 'GetTask', framed(toAgent(field(2, 'x')))).status).toBe(NOT_FOUND);
  for (const { leave } of waiting) leave();
  expect(await until(state, (status) => status === 200)).toBe(200);
});

test('who does not read the answers of gRPC calls is cut off, and others are answered', async () => {
  const client = session({ initialWindowSize: 0 });
  const calls = Array.from({ length: LIMIT }, () =>
    send(owner.token, 'GetExtendedAgentCard', framed(toAgent()), { client }),
  );
  const asOwner = await app.as(owner);
  const state = async (): Promise<number> => (await asOwner.get('/users/me')).status;
  expect(await until(state, (status) => status === 429)).toBe(429);
  expect(await Promise.all(calls.map(({ status }) => status))).toEqual(calls.map(() => 'reset'));
  expect(await until(state, (status) => status === 200)).toBe(200);
});
