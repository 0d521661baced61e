/** The memory that an HTTP/2 client can hold, before and after it is authenticated. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';

import { listenGrpc, type GrpcServer } from '../../api/a2a/grpc-server.ts';
import { grpcStatusOf } from '../support/grpc-status.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { until } from '../support/platform.ts';
import { threadClock } from '../support/machine.ts';

const UNAUTHENTICATED = '16';
const DEADLINE_EXCEEDED = '4';
const RESOURCE_EXHAUSTED = '8';
const receiveMs = 1_000;
let app: TestApp;
let server: GrpcServer;
const sessions: ClientHttp2Session[] = [];

beforeAll(async () => {
  app = await startTestApp();
  server = await listenGrpc(app.app.deps, { host: '127.0.0.1', port: 0, receiveMs });
});
afterAll(async () => {
  for (const session of sessions) session.destroy();
  await server.stop(1_000);
  await app.close();
});

function session(port = server.port): ClientHttp2Session {
  const opened = connect(`http://127.0.0.1:${port}`);
  opened.on('error', () => {});
  sessions.push(opened);
  return opened;
}

interface Call {
  stream: ClientHttp2Stream;
  /** The headers and trailers of the response, once they have arrived. */
  status: Promise<string>;
  sent: () => number;
}

/** A message that announces 15 MiB and never ends; as much is sent as the server takes. */
function hugeCall(client: ClientHttp2Session, headers: Record<string, string> = {}): Call {
  const stream = client.request({
    ':method': 'POST',
    ':path': '/lf.a2a.v1.A2AService/SendMessage',
    'content-type': 'application/grpc',
    te: 'trailers',
    'a2a-version': '1.0',
    ...headers,
  });
  const chunk = Buffer.alloc(64 * 1024, 1);
  let [sent, over] = [0, false];
  const status = grpcStatusOf(stream);
  void status.then(() => {
    over = true;
  });
  const pump = (): void => {
    if (over || stream.destroyed || sent >= 15 * 1024 * 1024) return;
    stream.write(chunk, () => {
      sent += chunk.length;
      setImmediate(pump);
    });
  };
  stream.resume();
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(15 * 1024 * 1024, 1);
  stream.write(prefix, pump);
  return { stream, status, sent: () => sent };
}

test('sixty streams without a token are refused before their messages are read', async () => {
  const client = session();
  globalThis.gc?.();
  const before = process.memoryUsage();
  const calls = Array.from({ length: 60 }, () => hugeCall(client));
  expect(new Set(await Promise.all(calls.map(({ status }) => status)))).toEqual(new Set([UNAUTHENTICATED]));
  const after = process.memoryUsage();
  // Client and server share this process. Without the limit the server alone held 60 times 15 MiB.
  expect(after.arrayBuffers + after.external - before.arrayBuffers - before.external).toBeLessThan(
    200 * 1024 * 1024,
  );
  expect(calls.reduce((sum, { sent }) => sum + sent(), 0)).toBeLessThan(60 * 1024 * 1024);
});

test('streams with forged tokens are refused as early, and other callers are served meanwhile', async () => {
  const calls = [1, 2, 3].flatMap(() => {
    const client = session();
    return Array.from({ length: 60 }, () => hugeCall(client, { authorization: 'Bearer a.b.c' }));
  });
  const spentMs = threadClock();
  expect((await app.anonymous.get('/healthz')).status).toBe(200);
  expect(spentMs()).toBeLessThan(5_000);
  expect(new Set(await Promise.all(calls.map(({ status }) => status)))).toEqual(new Set([UNAUTHENTICATED]));
});

test('a connection has at most 100 streams, further ones wait or are refused', async () => {
  const client = session();
  await until(
    async () => client.remoteSettings.maxConcurrentStreams,
    (most) => most === 100,
  );
  const { token } = await app.user('builder');
  const ended: number[] = [];
  const calls = Array.from({ length: 130 }, (_, index) => {
    const stream = client.request({
      ':method': 'POST',
      ':path': '/lf.a2a.v1.A2AService/GetTask',
      'content-type': 'application/grpc',
      authorization: `Bearer ${token}`,
    });
    stream.on('error', () => {});
    stream.write(Buffer.alloc(5));
    return new Promise<unknown>((resolve) => {
      stream.on('close', () => resolve('refused'));
      stream.on('response', (headers) => {
        ended.push(index);
        stream.close(constants.NGHTTP2_CANCEL);
        resolve(headers['grpc-status']);
      });
    });
  });
  const statuses = await Promise.all(calls);
  expect(new Set(statuses.slice(0, 100))).toEqual(new Set([DEADLINE_EXCEEDED]));
  expect(new Set([...statuses, 'refused'])).toEqual(new Set([DEADLINE_EXCEEDED, 'refused']));
  // No other stream is answered as long as the first hundred are open.
  expect(ended.slice(0, 100).every((index) => index < 100)).toBe(true);
});

test('an authenticated caller has to send the message in time', async () => {
  const { token } = await app.user('builder');
  const stream = session().request({
    ':method': 'POST',
    ':path': '/lf.a2a.v1.A2AService/SendMessage',
    'content-type': 'application/grpc',
    te: 'trailers',
    'a2a-version': '1.0',
    authorization: `Bearer ${token}`,
  });
  const status = new Promise((resolve) =>
    stream
      .on('response', (headers) => resolve(headers['grpc-status']))
      .on('trailers', (headers) => resolve(headers['grpc-status'])),
  );
  stream.write(Buffer.from([0, 0, 1, 0, 0, 1, 2, 3]));
  expect(await status).toBe(DEADLINE_EXCEEDED);
});

test('calls without a valid token count against their address', async () => {
  const limited = await startTestApp({
    databaseUrl: app.databaseUrl,
    env: { BASE_URL: app.env.BASE_URL, RATE_LIMIT_ADDRESS_PER_MINUTE: '3' },
  });
  const port = await listenGrpc(limited.app.deps, { host: '127.0.0.1', port: 0 });
  try {
    const client = session(port.port);
    const statuses = [];
    // More than twice the limit, because one new minute may begin in between.
    for (let call = 0; call < 8; call += 1) statuses.push(await hugeCall(client).status);
    expect(new Set(statuses)).toEqual(new Set([UNAUTHENTICATED, RESOURCE_EXHAUSTED]));
  } finally {
    await port.stop(1_000);
    await limited.close();
  }
});
