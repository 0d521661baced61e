/** The DSL's `call: asyncapi` against real servers: HTTP, WebSocket, and MQTT brokers. */
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Aedes, type Client as BrokerClient } from 'aedes';
import { expect, test } from '@jest/globals';
import { WebSocketServer, type WebSocket } from 'ws';
import { stringify } from 'yaml';
import { callAsync, type AsyncCallOptions } from '../../support/asyncapi.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { faultOf } from '../../support/agent-call.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { listens, ownPort, processorClock } from '../../support/machine.ts';
import { testUnless } from '../../support/outside.ts';
import { inTrace, TRACEPARENT } from '../../support/trace.ts';
import { until } from '../../support/platform.ts';

const opened = closedAfterEach();

type Options = AsyncCallOptions;
const call = callAsync;

/** An HTTP server that serves a document, streams events, and takes messages. */
async function serve(document: (server: TestServer) => unknown, yaml = false): Promise<TestServer> {
  const server: TestServer = await startServer(({ path, method }, response) => {
    if (path === '/doc') {
      response.writeHead(200, { 'content-type': yaml ? 'application/yaml' : 'application/json' });
      return void response.end((yaml ? stringify : JSON.stringify)(document(server)));
    }
    if (path === '/v1/orders' && method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const n of [1, 2, 3]) response.write(`id: ${n}\ndata: {"n": ${n}, "of": "orders"}\n\n`);
      return undefined;
    }
    return sendJson(response, { took: path });
  });
  return opened(server);
}

const channels = {
  orders: { address: 'orders', messages: { order: { correlationId: { location: '$message.payload#/of' } } } },
  user: { address: 'users/{id}/mail', parameters: { id: { location: '$message.payload#/user/id' } } },
};
const operations = {
  place: { action: 'receive', channel: { $ref: '#/channels/orders' } },
  follow: { action: 'send', channel: { $ref: '#/channels/orders' } },
  tell: { action: 'receive', channel: { $ref: '#/channels/user' }, bindings: { http: { method: 'PUT' } } },
};
const version3 = (servers: Record<string, unknown>) => ({ asyncapi: '3.0.0', servers, channels, operations });
const overHttp = ({ port }: TestServer) =>
  version3({
    far: { host: 'far.example.com', protocol: 'jms' },
    near: {
      host: '127.0.0.1:{port}',
      pathname: '/{version}',
      protocol: 'http',
      variables: { port: { default: String(port) }, version: { default: 'v1', enum: ['v1', 'v2'] } },
    },
  });
const at = ({ url }: { url: string }) => ({ document: { endpoint: `${url}/doc` } });

test('over HTTP: messages are requests, subscriptions are server-sent events (3.0)', async () => {
  const server = await serve(overHttp);
  const message = { payload: { n: 1 }, headers: { 'x-kind': 'test' } };
  expect(await call({ ...at(server), operation: 'place', message })).toEqual({ took: '/v1/orders' });
  expect(server.seen.at(-1)).toMatchObject({
    method: 'POST',
    body: '{"n":1}',
    headers: { 'x-kind': 'test' },
  });
  const mail = { payload: { user: { id: 'ada' } } };
  const variables = { version: 'v2' };
  const told = await call({
    ...at(server),
    operation: 'tell',
    message: mail,
    server: { name: 'near', variables },
  });
  expect(told).toEqual({ took: '/v2/users/ada/mail' });
  expect(server.seen.at(-1)?.method).toBe('PUT');
  const subscription = { filter: '${ .payload.n > 1 }', consume: { amount: 2 } };
  expect(await call({ ...at(server), operation: 'follow', subscription })).toEqual([
    { payload: { n: 2, of: 'orders' }, headers: { id: '2' }, correlationId: 'orders' },
    { payload: { n: 3, of: 'orders' }, headers: { id: '3' }, correlationId: 'orders' },
  ]);
});

test('the lifetime of a subscription: while, until, for, and the end of the call', async () => {
  const server = await serve(overHttp);
  const follow = (consume: Record<string, unknown>, options: Options = {}) =>
    call({ ...at(server), operation: 'follow', subscription: { consume } }, options);
  const numbers = (list: { payload: { n: number } }[]) => list.map(({ payload }) => payload.n);
  expect(numbers(await follow({ while: 'length < 2' }))).toEqual([1, 2]);
  expect(numbers(await follow({ until: '${ any(.payload.n == 3) }' }))).toEqual([1, 2, 3]);
  expect(await follow({ until: 'length == 0' })).toEqual([]);
  expect(numbers(await follow({ amount: 9, for_ms: 300 }))).toEqual([1, 2, 3]);
  for (const consume of [{ amount: 9 }, { amount: 9, for_ms: 2 ** 31 }])
    expect(await faultOf(follow(consume, { timeoutMs: 400 }))).toMatchObject({ kind: 'timeout' });
  const cancel = new AbortController();
  const following = follow({ amount: 9 }, { signal: cancel.signal });
  await until(
    async () => server.seen.filter(({ method, path }) => method === 'GET' && path !== '/doc').length,
    (n) => n === 7,
  );
  cancel.abort(new Error('cancelled by the test'));
  await expect(following).rejects.toThrow('cancelled by the test');
});

/** A WebSocket server that greets with `greetings`, and records what it gets. */
async function serveSockets(greetings: unknown[]) {
  const sockets = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  const seen: { path: string; authorization: string | undefined; messages: string[]; open: boolean }[] = [];
  sockets.on('connection', (socket: WebSocket, { url = '', headers }) => {
    const entry = { path: url, authorization: headers.authorization, messages: [] as string[], open: true };
    seen.push(entry);
    socket.on('message', (data: Buffer) => entry.messages.push(data.toString()));
    socket.on('close', () => (entry.open = false));
    for (const greeting of greetings) socket.send(JSON.stringify(greeting));
  });
  await new Promise((resolve) => sockets.once('listening', resolve));
  opened({
    close: () =>
      new Promise<void>((resolve) => {
        sockets.clients.forEach((socket) => socket.terminate());
        sockets.close(() => resolve());
      }),
  });
  return { port: (sockets.address() as AddressInfo).port, seen };
}

test('over a WebSocket, with credentials, and nothing stays open', async () => {
  const target = await serveSockets([{ n: 1 }, { n: 2 }, { n: 3 }]);
  const server = await serve(
    () => ({
      asyncapi: '2.6.0',
      servers: {
        main: {
          url: 'ws://127.0.0.1:{port}/live',
          protocol: 'ws',
          variables: { port: { default: String(target.port) } },
        },
      },
      channels: {
        '/orders': { publish: { operationId: 'place' }, subscribe: { operationId: 'follow' } },
        '/read-only': { subscribe: {} },
      },
    }),
    true,
  );
  const authentication = { bearer: { use: 'TOKEN' } };
  const secrets = { TOKEN: 'token-of-sockets' };
  const message = { payload: { n: 7 } };
  expect(await call({ ...at(server), channel: 'orders', message, authentication }, { secrets })).toBeNull();
  await until(async () => target.seen[0]?.messages.length === 1, Boolean);
  expect(target.seen[0]).toMatchObject({
    path: '/live/orders',
    authorization: 'Bearer token-of-sockets',
    messages: ['{"n":7}'],
  });
  const subscription = { consume: { amount: 2 } };
  expect(await call({ ...at(server), operation: 'follow', protocol: 'ws', subscription })).toMatchObject([
    { payload: { n: 1 } },
    { payload: { n: 2 } },
  ]);
  await until(async () => target.seen.every(({ open }) => !open), Boolean);
  expect(await faultOf(call({ ...at(server), channel: '/read-only', message }))).toMatchObject({
    kind: 'configuration',
    detail: expect.stringContaining('no publish operation'),
  });
  const headers = { a: 'b' };
  expect(
    await faultOf(call({ ...at(server), channel: 'orders', message: { ...message, headers } })),
  ).toMatchObject({
    detail: expect.stringContaining('no headers'),
  });
});

/** A server of WebSockets that sends the text `1`, and never answers the end of a connection. */
async function serveRudely() {
  const seen = { begun: 0, ended: 0 };
  const server = createServer().on('upgrade', ({ headers }, socket: Socket) => {
    seen.begun += 1;
    const key = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.write(Buffer.from([0x81, 1, 0x31]));
    socket.on('error', () => undefined).on('end', () => socket.destroy());
    socket.on('close', () => (seen.ended += 1)).resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened({ close: async () => void server.close() });
  return { port: (server.address() as AddressInfo).port, seen };
}

test('a server that never closes its WebSocket keeps neither the call nor the connection', async () => {
  const { port, seen } = await serveRudely();
  const server = await serve(() => version3({ s: { host: `127.0.0.1:${port}`, protocol: 'ws' } }));
  const subscribed = (amount: number, timeoutMs = 30_000) =>
    call({ ...at(server), operation: 'follow', subscription: { consume: { amount } } }, { timeoutMs });
  expect(await subscribed(1)).toEqual([{ payload: 1, headers: {} }]);
  expect(await faultOf(subscribed(2, 300))).toMatchObject({ kind: 'timeout' });
  expect(await call({ ...at(server), operation: 'follow', message: { payload: {} } })).toBeNull();
  await until(
    async () => seen,
    ({ begun, ended }) => begun === 3 && ended === 3,
  );
});

test('server-sent events count with all their fields, however they are cut into pieces', async () => {
  const pieces = ['id: 1\r', '\ndata: a\r\nda', 'ta: b\r', '\n\r', '\n', ': note\n\ndata:c\r\r'];
  const large = `event: ${'x'.repeat(1_000_000)}\ndata: 1\n\n`;
  const events: TestServer = opened(
    await startServer(async ({ path }, response) => {
      if (path === '/doc') return sendJson(response, overHttp(events));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const piece of [...pieces, ...Array<string>(9).fill(large)]) {
        response.write(piece);
        await setImmediate();
      }
      return undefined;
    }),
  );
  const follow = (amount: number) =>
    call({ ...at(events), operation: 'follow', subscription: { consume: { amount } } });
  expect(await follow(2)).toEqual([
    { payload: 'a\nb', headers: { id: '1' } },
    { payload: 'c', headers: {} },
  ]);
  expect(await faultOf(follow(99))).toMatchObject({
    detail: 'The subscription received more than 8388608 bytes',
  });
});

test('a hostile document takes little time, and what it names does not fill messages', async () => {
  const names = Array.from({ length: 40_000 }, (_, n) => `k${n}: 1`).join('\n');
  const server = await startServer(({ path }, response) => {
    response.writeHead(200, { 'content-type': 'application/yaml' });
    response.end(
      path === '/doc'
        ? `asyncapi: 3.0.0\n${names}`
        : JSON.stringify({ asyncapi: '3.0.0', operations: { ['x'.repeat(1_000_000)]: {} } }),
    );
  });
  opened(server);
  const message = { payload: {} };
  const clock = processorClock();
  expect(await faultOf(call({ ...at(server), operation: 'a', message }))).toMatchObject({
    detail: `${server.url}/doc has no operation "a"`,
  });
  expect(clock()).toBeLessThan(4_000);
  const long = { document: { endpoint: `${server.url}/long` } };
  expect((await faultOf(call({ ...long, operation: 'a', message }))).detail).toHaveLength(4_001);
});

async function serveBroker(account?: { username: string; password: string }) {
  const broker = await Aedes.createBroker();
  if (account)
    broker.authenticate = (_client, username, password, done) =>
      done(null, username === account.username && String(password) === account.password);
  const tcp = createTcpServer(broker.handle);
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  const published: { topic: string; payload: string }[] = [];
  broker.on('publish', ({ topic, payload }, client: BrokerClient | null) => {
    if (client !== null) published.push({ topic, payload: payload.toString() });
  });
  opened({
    close: async () => {
      await new Promise<void>((resolve) => broker.close(resolve));
      tcp.close();
    },
  });
  const publish = (topic: string, payload: string): Promise<void> =>
    new Promise((resolve, reject) =>
      broker.publish(
        { cmd: 'publish', topic, payload: Buffer.from(payload), qos: 1, retain: false, dup: false },
        (error) => (error ? reject(error) : resolve()),
      ),
    );
  return { broker, port: (tcp.address() as AddressInfo).port, published, publish };
}

test('over MQTT: messages are acknowledged, subscriptions take any value of a parameter', async () => {
  const account = { username: 'ada', password: 'password-of-mqtt' };
  const { broker, port, published, publish } = await serveBroker(account);
  const server = await serve(() => version3({ broker: { host: `127.0.0.1:${port}`, protocol: 'mqtt' } }));
  const common = { ...at(server), authentication: { basic: { use: 'MQTT' } } };
  const secrets = { MQTT: JSON.stringify(account) };
  const message = { payload: { user: { id: 'ada' }, text: 'hello' } };
  expect(await call({ ...common, operation: 'tell', message }, { secrets })).toBeNull();
  expect(published).toEqual([{ topic: 'users/ada/mail', payload: JSON.stringify(message.payload) }]);

  const subscribed = new Promise((resolve) => broker.once('subscribe', resolve));
  const subscription = { consume: { amount: 2 } };
  const following = call({ ...common, operation: 'tell', subscription }, { secrets });
  await subscribed;
  await publish('users/ada/mail', '{"n":1}');
  await publish('users/ada/other', '{"n":2}');
  await publish('users/bob/mail', 'plain');
  expect(await following).toEqual([
    { payload: { n: 1 }, headers: {} },
    { payload: 'plain', headers: {} },
  ]);
  await until(
    async () => broker.connectedClients,
    (count) => count === 0,
  );

  const wrong = { MQTT: JSON.stringify({ ...account, password: 'wrong-password' }) };
  const refused = await faultOf(call({ ...common, operation: 'tell', message }, { secrets: wrong }));
  expect(refused).toMatchObject({ kind: 'authorization', status: 403 });
  expect(refused.detail).not.toContain('wrong-password');
});

/** Debian's broker, the only one here that speaks MQTT 5. */
const MOSQUITTO = '/usr/sbin/mosquitto';

testUnless(existsSync(MOSQUITTO) ? undefined : 'mosquitto is not installed')(
  'over MQTT 5, with headers and a correlation id',
  async () => {
    const port = await ownPort();
    const settings = join(await mkdtemp(join(tmpdir(), 'mosquitto-')), 'settings');
    writeFileSync(settings, `listener ${port} 127.0.0.1\nallow_anonymous true\n`);
    const broker = spawn(MOSQUITTO, ['-c', settings], { stdio: 'ignore' });
    opened({ close: async () => void broker.kill('SIGKILL') });
    await until(async () => listens(port), Boolean);
    const server = await serve(() => version3({ broker: { host: `127.0.0.1:${port}`, protocol: 'mqtt5' } }));
    const message = { payload: { n: 1, of: 'five' }, headers: { 'x-kind': 'test' } };
    const subscription = { consume: { amount: 1 } };
    const following = call({ ...at(server), operation: 'follow', subscription });
    // A subscription only sees what is sent after it, and this broker does not say when it is there.
    const send = () =>
      inTrace(() => call({ ...at(server), operation: 'place', message }, { key: 'another' }));
    const sending = setInterval(() => void send(), 200);
    expect(await following.finally(() => clearInterval(sending))).toEqual([
      {
        payload: message.payload,
        headers: { 'x-kind': 'test', traceparent: TRACEPARENT },
        correlationId: 'five',
      },
    ]);
  },
);

test('a subscription that receives too much, or loses its broker, is an error', async () => {
  const { broker, port, publish } = await serveBroker();
  const server = await serve(() => version3({ broker: { host: `127.0.0.1:${port}`, protocol: 'mqtt' } }));
  const subscription = { consume: { amount: 99 } };
  /** Begins a subscription, and resolves when the broker has it. */
  const begin = async (options: Options = {}, wanted: object = subscription) => {
    const subscribed = new Promise((resolve) => broker.once('subscribe', resolve));
    const following = call({ ...at(server), operation: 'follow', subscription: wanted }, options);
    following.catch(() => undefined);
    await subscribed;
    return { following };
  };
  const large = await begin();
  for (let n = 0; n < 3; n++) await publish('orders', JSON.stringify('x'.repeat(3_000_000)));
  expect(await faultOf(large.following)).toMatchObject({
    detail: 'The subscription received more than 8388608 bytes',
  });
  // What the filter leaves out counts as well, but not as something that waits.
  const filtered = await begin({}, { filter: 'false', consume: { amount: 1 } });
  let isOver = false;
  const over = faultOf(filtered.following).finally(() => (isOver = true));
  for (let n = 0; n < 20 && !isOver; n++) await publish('orders', JSON.stringify('x'.repeat(3_000_000)));
  expect(await over).toMatchObject({ detail: 'The subscription received more than 33554432 bytes' });
  const cancel = new AbortController();
  const cancelled = await begin({ signal: cancel.signal });
  cancel.abort(new Error('cancelled by the test'));
  await expect(cancelled.following).rejects.toThrow('cancelled by the test');
  await until(
    async () => broker.connectedClients,
    (count) => count === 0,
  );
  const lost = await begin();
  for (const client of Object.values(
    (broker as unknown as { clients: Record<string, BrokerClient> }).clients,
  ))
    client.close();
  expect(await faultOf(lost.following)).toMatchObject({
    kind: 'communication',
    detail: 'The subscription ended after 0 messages',
  });
});

/** A server that says the same for ever to whoever connects, or nothing at all. */
const serveHostile = (words: Buffer | null) =>
  serveTcp((socket) => {
    if (words !== null) sayForEver(socket, words);
  });

function sayForEver(socket: Socket, words: Buffer): void {
  const say = (): void => {
    while (socket.writable && socket.write(words));
  };
  socket.on('drain', say);
  say();
}

async function serveTcp(begin: (socket: Socket) => void) {
  const seen = { begun: 0, ended: 0 };
  const server = createTcpServer((socket) => {
    seen.begun += 1;
    socket.on('error', () => undefined);
    socket.on('close', () => (seen.ended += 1)).resume();
    begin(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened({ close: async () => void server.close() });
  return { port: (server.address() as AddressInfo).port, seen };
}

/** A frame of AMQP with a method. */
function amqp(channel: number, kind: number, method: number, ...fields: number[]): Buffer {
  const payload = Buffer.from([0, kind, 0, method, ...fields]);
  const head = Buffer.from([1, 0, channel, 0, 0, 0, payload.length]);
  return Buffer.concat([head, payload, Buffer.from([0xce])]);
}

/** All that a broker of AMQP says until a connection is open. */
const AMQP_HELLO = Buffer.concat([
  amqp(0, 10, 10, 0, 9, 0, 0, 0, 0, 0, 0, 0, 5, ...Buffer.from('PLAIN'), 0, 0, 0, 5, ...Buffer.from('en_US')),
  amqp(0, 10, 30, 0, 0, 0, 2, 0, 0, 0, 30),
  amqp(0, 10, 41, 0),
]);
/** The end, because of an error. */
const AMQP_CLOSE = amqp(0, 10, 50, 0x02, 0x1d, 0, 0, 0, 0, 0);

test.each([
  ['nats', 'x'.repeat(10_000), 'a line of more than'],
  ['nats', `INFO ${'{'.repeat(10_000)}\r\n`, 'broke off the connection'],
  ['nats', 'INFO {}\r\nMSG a 1 1\r\nx\r\n', 'does not speak NATS'],
  ['nats', 'HTTP/1.1 400 Bad Request\r\n', 'does not speak NATS'],
  ['kafka', '\x7f\xff\xff\xff', 'more than 9437184 bytes at once'],
  ['kafka', '\0\0\0\x08\0\0\0\x09', 'did not answer as Kafka does'],
  ['kafka', '\0\0\0\x0a\0\0\0\x01\0\0\0\0\x7f\xff', 'did not answer as Kafka does'],
  ['amqp', Buffer.concat([AMQP_HELLO, AMQP_CLOSE]).toString('latin1'), 'refused: Connection closed: 541'],
  ['amqp', '\x01\0\0\x7f\xff\xff\xff', 'broke off the connection'],
  ['amqp', 'x'.repeat(10_000), 'broke off the connection'],
])('a hostile server of %s is left: %j', async (protocol, words, detail) => {
  const { port, seen } = await serveHostile(Buffer.from(words.repeat(500), 'latin1'));
  const server = await serve(() => version3({ s: { host: `127.0.0.1:${port}`, protocol } }));
  const subscription = { consume: { amount: 1 } };
  for (const wanted of [{ message: { payload: {} } }, { subscription }]) {
    const refused = await faultOf(call({ ...at(server), operation: 'place', ...wanted }));
    expect(refused).toMatchObject({ kind: 'communication', detail: expect.stringContaining(detail) });
  }
  await until(
    async () => seen,
    ({ begun, ended }) => begun >= 2 && ended === begun,
  );
});

/** A server of NATS that says `words` to whoever subscribes. */
const serveNats = (words: string) =>
  serveTcp((socket) => {
    socket.write('INFO {}\r\n');
    socket.on('data', (said: Buffer) => {
      for (const line of said.toString().split('\r\n')) {
        if (line === 'PING') socket.write('PONG\r\n');
        if (line.startsWith('SUB')) socket.write(words);
      }
    });
  });

test('messages of NATS take little time, whatever is in their heads', async () => {
  const follow = async (words: string) => {
    const { port } = await serveNats(words);
    const server = await serve(() => version3({ s: { host: `127.0.0.1:${port}`, protocol: 'nats' } }));
    return call({ ...at(server), operation: 'follow', subscription: { consume: { amount: 1 } } });
  };
  expect(await faultOf(follow('MSG a 1 99999999999\r\n'))).toMatchObject({
    detail: expect.stringContaining('more than 8388608 bytes'),
  });
  const lines = ['NATS/1.0', `a:${' '.repeat(300_000)}x\nx`, 'b:c ', ...Array<string>(2_000).fill('d:e')];
  const head = `${lines.join('\r\n')}\r\n\r\n`;
  const clock = processorClock();
  const [message] = await follow(`HMSG a 1 ${head.length} ${head.length + 1}\r\n${head}1\r\n`);
  expect(message).toMatchObject({ payload: 1, headers: { a: 'x\nx', b: 'c' } });
  expect(clock()).toBeLessThan(4_000);
});

test('a hostile broker of AMQP fills no memory, and counts nothing that was not sent', async () => {
  // Answers to channel.open, confirm.select and basic.publish.
  const answers = new Map([
    ['0014000a', amqp(1, 20, 11, 0, 0, 0, 0)],
    ['0055000a', amqp(1, 85, 11)],
    // The number is the largest that a list may have as its length.
    ['003c0028', amqp(1, 60, 80, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0)],
  ]);
  const open = (socket: Socket, heard: (method: string) => void): void => {
    socket.once('data', () => {
      socket.write(AMQP_HELLO);
      socket.on('data', (said: Buffer) => {
        for (const method of answers.keys()) if (said.includes(Buffer.from(method, 'hex'))) heard(method);
      });
    });
  };
  const confirming = await serveTcp((socket) =>
    open(socket, (method) => socket.write(answers.get(method) ?? '')),
  );
  // A message that is longer than any: its head, and its body for ever.
  const [deliver, body] = [amqp(1, 60, 60, 1, 0x78, ...Array<number>(9).fill(0), 0, 0), Buffer.alloc(65_536)];
  const head = Buffer.from([2, 0, 1, 0, 0, 0, 14, 0, 60, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xce]);
  const frame = Buffer.concat([Buffer.from([3, 0, 1, 0, 1, 0, 0]), body, Buffer.from([0xce])]);
  const flooding = await serveTcp((socket) =>
    open(socket, () => {
      socket.write(Buffer.concat([deliver, head]));
      sayForEver(socket, frame);
    }),
  );
  const message = { payload: { n: 1 } };
  for (const [{ port, seen }, detail] of [
    [confirming, 'closed the connection'],
    [flooding, 'more than 8388608 bytes in a message'],
  ] as const) {
    const server = await serve(() => version3({ s: { host: `127.0.0.1:${port}`, protocol: 'amqp' } }));
    const clock = processorClock();
    expect(await faultOf(call({ ...at(server), operation: 'place', message }))).toMatchObject({
      kind: 'communication',
      detail: expect.stringContaining(detail),
    });
    expect(clock()).toBeLessThan(4_000);
    await until(
      async () => seen,
      ({ begun, ended }) => begun === 1 && ended === 1,
    );
  }
});

test('a password is not proven to a broker of Kafka that makes it easy to guess', async () => {
  const { port } = await serveTcp((socket) =>
    socket.on('data', (said: Buffer) => {
      const answer = (...parts: Buffer[]): void => {
        const size = Buffer.alloc(4);
        size.writeInt32BE(4 + Buffer.concat(parts).length);
        socket.write(Buffer.concat([size, said.subarray(8, 12), ...parts]));
      };
      // Handshake, then the challenge.
      if (said.readInt16BE(4) === 17) return answer(Buffer.alloc(6));
      const nonce = /r=([\w-]+)/.exec(said.toString())?.[1];
      const challenge = Buffer.from(`r=${nonce}x,s=c2FsdA==,i=1`);
      return answer(Buffer.from([0, 0, 0xff, 0xff, 0, 0, 0, challenge.length]), challenge);
    }),
  );
  const server = await serve(() =>
    version3({ s: { host: `127.0.0.1:${port}`, protocol: 'kafka', security: [{ type: 'scramSha256' }] } }),
  );
  const authentication = { basic: { use: 'ADA' } };
  const sending = call(
    { ...at(server), operation: 'place', message: { payload: {} }, authentication },
    { secrets: { ADA: JSON.stringify({ username: 'ada', password: 'password-of-kafka' }) } },
  );
  expect(await faultOf(sending)).toMatchObject({
    kind: 'authentication',
    detail: expect.stringContaining('1 iterations'),
  });
});

test('a broker that says nothing has the time of the call, and keeps no connection', async () => {
  const { port, seen } = await serveHostile(null);
  for (const protocol of ['mqtt', 'nats', 'amqp', 'kafka']) {
    const server = await serve(() => version3({ s: { host: `127.0.0.1:${port}`, protocol } }));
    const { begun } = seen;
    // On a busy machine, the time may be over before the connection begins.
    for (let timeoutMs = 300; seen.begun === begun; timeoutMs *= 2) {
      const sending = call({ ...at(server), operation: 'place', message: { payload: {} } }, { timeoutMs });
      expect(await faultOf(sending)).toMatchObject({ kind: 'timeout' });
    }
  }
  await until(
    async () => seen,
    ({ begun, ended }) => begun === 4 && ended === 4,
  );
});

test('the egress policy holds for servers that a document names, and mistakes are named', async () => {
  const { port } = await serveBroker();
  const named = (protocol: string, host: string) => serve(() => version3({ s: { host, protocol } }));
  const message = { payload: {} };
  for (const protocol of ['http', 'ws', 'mqtt', 'mqtt5', 'nats', 'amqp', 'kafka']) {
    const server = await named(protocol, `127.0.0.2:${port}`);
    expect(await faultOf(call({ ...at(server), operation: 'place', message }))).toMatchObject({
      kind: 'authorization',
      detail: expect.stringContaining('EGRESS_ALLOW'),
    });
  }
  const detail = async (server: TestServer, args: Record<string, unknown>) =>
    (await faultOf(call({ ...at(server), message, ...args }))).detail;
  const jms = await named('jms', 'broker.example.com');
  expect(await detail(jms, { operation: 'place' })).toContain('its protocols are jms');
  const server = await serve(overHttp);
  expect(await detail(server, { operation: 'plaec' })).toContain('it has place, follow, tell');
  expect(await detail(server, { operation: 'place', server: { name: 'x' } })).toContain('it has far, near');
  expect(await detail(server, { operation: 'place', protocol: 'mqtt' })).toContain('mqtt is wanted');
  expect(await detail(server, { operation: 'tell' })).toContain('the parameter id');
  const climbing = { payload: { user: { id: '../../admin' } } };
  expect(await detail(server, { operation: 'tell', message: climbing })).toContain('no part of an address');
  const bad = { name: 'near', variables: { version: 'v3' } };
  expect(await detail(server, { operation: 'place', server: bad })).toContain('one of v1, v2');
  expect(await detail(await serve(() => ({ openapi: '3.1.0' })), { operation: 'x' })).toContain(
    'is not an AsyncAPI document',
  );
});
