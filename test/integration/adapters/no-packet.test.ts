/**
 * No packet reaches an address that the operator has not allowed, however it is written, and whichever part
 * calls it: webhooks and pushes, every `call` with its documents and brokers, cards and endpoints of A2A
 * agents (also by gRPC), linked files and HTTP agents. A server counts the connections.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:net';
import { createDeliverySender } from '../../../adapters/egress/delivery-sender.ts';
import { createAdapters, createEgressPolicy, type EgressPolicy } from '../../../adapters/index.ts';
import type { Adapters, DeliverySender } from '../../../domain/ports.ts';
import { agentCall, faultOf, httpCall } from '../../support/agent-call.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { ownPort } from '../../support/machine.ts';

let trap: Server;
let packets = 0;
let port = 0;
/** It listens on 127.0.0.1, the only allowed address, and redirects to forbidden ones. */
let lure: TestServer;
let egress: EgressPolicy;
let adapters: Adapters;
let sender: DeliverySender;
const lookups: string[] = [];

/** What DNS answers; any other name leads to 127.0.0.2. */
const NAMES: Record<string, string[]> = {
  'private.example': ['127.0.0.2'],
  'private.example.': ['127.0.0.2'],
  'mixed.example': ['93.184.215.14', '127.0.0.2'],
  'mapped.example': ['::ffff:127.0.0.2'],
  localhost: ['::1', '127.0.0.2'],
  'localhost.': ['127.0.0.2'],
  'any.localhost': ['127.0.0.2'],
};

beforeAll(async () => {
  trap = createServer((socket) => {
    packets += 1;
    socket.destroy();
  });
  // Nothing of an earlier test is still connecting to this port.
  port = await ownPort();
  await new Promise<void>((resolve) => trap.listen(port, resolve));
  lure = await startServer(({ path }, response) => {
    const [, kind = '', to = ''] = path.split('/').map(decodeURIComponent);
    if (/^30\d$/.test(kind)) return void response.writeHead(Number(kind), { location: to }).end();
    if (kind === 'card') return sendJson(response, { ...CARD, url: to });
    if (kind === 'grpc')
      return sendJson(response, {
        ...CARD,
        supportedInterfaces: [{ url: to, protocolBinding: 'GRPC', protocolVersion: '1.0' }],
      });
    if (kind === 'asyncapi') {
      const [protocol = '', host] = to.split('|');
      return sendJson(response, {
        asyncapi: '3.0.0',
        servers: { main: { host, protocol } },
        channels: { orders: { address: 'orders' } },
      });
    }
    sendJson(response, {}, 404);
  });
  egress = createEgressPolicy({
    allow: ['127.0.0.1'],
    lookup: async (hostname) => {
      lookups.push(hostname);
      return (NAMES[hostname.toLowerCase()] ?? ['127.0.0.2']).map((address) => ({
        address,
        family: address.includes(':') ? 6 : 4,
      }));
    },
  });
  adapters = createAdapters({ egress });
  sender = createDeliverySender(egress);
});
afterAll(async () => {
  await egress.close();
  await lure.close();
  await new Promise((resolve) => trap.close(resolve));
});

const CARD = {
  name: 'Lure',
  description: 'x',
  version: '1',
  protocolVersion: '0.3.0',
  preferredTransport: 'JSONRPC',
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
};

const HOSTS = [
  '127.0.0.2',
  '127.0.0.2.',
  '127.2',
  '2130706434',
  '0x7f000002',
  '0x7f.2',
  '0177.0.0.2',
  '017700000002',
  '１２７.0.0.2',
  '①②⑦.0.0.②',
  '[::1]',
  '[::ffff:127.0.0.2]',
  '[::ffff:7f00:2]',
  '[0:0:0:0:0:ffff:7f00:0002]',
  '[::127.0.0.2]',
  '[::]',
  '0.0.0.0',
  '0',
  '[fe80::1]',
  '[fd00::1]',
  '[64:ff9b::7f00:2]',
  '[2002:7f00:2::]',
  '[2001:db8::1]',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '100.127.255.255',
  '168.63.129.16',
  '198.18.0.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  'localhost',
  'localhost.',
  'LOCALHOST',
  'any.localhost',
  'private.example',
  'private.example.',
  'mixed.example',
  'mapped.example',
  'x@private.example',
  'x:y@127.0.0.2',
  '127.0.0.1@127.0.0.2',
];
const urls = (scheme: string): string[] => [
  ...HOSTS.map((host) => `${scheme}://${host}:${port}/`),
  `${scheme}://127.0.0.2:${port}\\@127.0.0.1/`,
  `${scheme}:127.0.0.2:${port}`,
  `${scheme}:\\\\127.0.0.2:${port}/`,
];
const ALL = (): string[] => [...urls('http'), ...urls('https')];

const send = (url: string) =>
  sender.send({ url, headers: {}, body: '{}', timeoutMs: 60_000, signal: new AbortController().signal });
const byGrpc = (url: string) =>
  adapters.invoke(
    agentCall(
      {
        type: 'a2a',
        url: 'https://unused.example',
        configuration: { card_url: `${lure.url}/grpc/${encodeURIComponent(url)}` },
      },
      'hi',
    ),
  );
const WAYS: [string, (url: string) => Promise<unknown>][] = [
  ['call: http', (url) => adapters.http(httpCall({ method: 'get', endpoint: url }))],
  [
    'call: a2a by card',
    (url) =>
      adapters.a2a(httpCall({ method: 'tasks/get', agentCard: { endpoint: url }, parameters: { id: 'x' } })),
  ],
  [
    'call: a2a by server',
    (url) => adapters.a2a(httpCall({ method: 'tasks/get', server: url, parameters: { id: 'x' } })),
  ],
  ['an a2a agent', (url) => adapters.invoke(agentCall({ type: 'a2a', url }, 'hi'))],
  [
    'an a2a agent whose card leads on',
    (url) =>
      adapters.invoke(
        agentCall(
          {
            type: 'a2a',
            url: 'https://unused.example',
            configuration: { card_url: `${lure.url}/card/${encodeURIComponent(url)}`, streaming: false },
          },
          'hi',
        ),
      ),
  ],
  ['an a2a agent whose card leads on over gRPC', byGrpc],
  [
    'call: openapi by document',
    (url) => adapters.openapi(httpCall({ document: { endpoint: url }, operationId: 'x' })),
  ],
  [
    'call: asyncapi by document',
    (url) =>
      adapters.asyncapi(httpCall({ document: { endpoint: url }, operation: 'x', message: { payload: {} } })),
  ],
  [
    'call: mcp',
    (url) => adapters.mcp(httpCall({ method: 'tools/list', transport: { http: { endpoint: url } } })),
  ],
  [
    'call: grpc by document',
    (url) =>
      adapters.grpc(
        httpCall({
          proto: { endpoint: url },
          service: { name: 'a.B', host: '127.0.0.1', port: lure.port, tls: false },
          method: 'C',
        }),
      ),
  ],
  [
    'a linked file',
    (url) =>
      adapters.openFile({ url, timeoutMs: 60_000, signal: new AbortController().signal, maxBytes: 1_000 }),
  ],
  ['an HTTP agent', (url) => adapters.invoke(agentCall({ type: 'api', url }, {}))],
];

/** Refused by the rules, or not a valid address at all. */
const REFUSED = ['authorization', 'configuration', 'validation'];

describe.each(WAYS)('egress by %s', (_, call) => {
  test('refuses forbidden addresses and names', async () => {
    for (const url of ALL())
      expect([url, (await faultOf(call(url))).kind]).toEqual([
        url,
        expect.stringMatching(new RegExp(REFUSED.join('|'))),
      ]);
    expect(packets).toBe(0);
  });

  test('refuses redirects to forbidden addresses', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      for (const to of [
        `http://127.0.0.2:${port}/`,
        `http://[::ffff:127.0.0.2]:${port}/`,
        `//127.0.0.2:${port}/`,
        `http://private.example:${port}/`,
      ]) {
        // A redirect is not followed, or its target is refused.
        const kind = await call(`${lure.url}/${status}/${encodeURIComponent(to)}`).then(
          () => 'answered',
          async (error: unknown) => (await faultOf(Promise.reject(error))).kind,
        );
        expect([status, to, kind]).not.toEqual([status, to, 'answered']);
      }
    }
    expect(packets).toBe(0);
  });
});

test('gRPC refuses forbidden addresses in each of its notations', async () => {
  const forms = (host: string): string[] =>
    ['', 'grpc://', 'grpcs://', 'dns:', 'dns:///', 'dns://127.0.0.1/', 'ipv4:', 'ipv6:', 'xds:///'].map(
      (scheme) => `${scheme}${host}:${port}`,
    );
  for (const url of [
    ...HOSTS.flatMap(forms),
    `ipv4:127.0.0.1:${lure.port},127.0.0.2:${port}`,
    `unix:127.0.0.2:${port}`,
    `unix:///tmp/${port}`,
  ]) {
    expect([url, (await faultOf(byGrpc(url))).kind]).toEqual([
      url,
      expect.stringMatching(new RegExp(REFUSED.join('|'))),
    ]);
  }
  expect(packets).toBe(0);
});

test('gRPC services and servers of AsyncAPI documents at forbidden addresses are refused', async () => {
  const protocols = ['http', 'https', 'ws', 'wss', 'mqtt', 'mqtts', 'mqtt5', 'nats', 'natss'];
  for (const host of HOSTS) {
    const service = { name: 'a.B', host, port, tls: false };
    const calls = [adapters.grpc(httpCall({ service, method: 'C', arguments: {} }))];
    for (const protocol of [...protocols, 'amqp', 'amqps', 'kafka', 'kafka-secure']) {
      const document = {
        endpoint: `${lure.url}/asyncapi/${encodeURIComponent(`${protocol}|${host}:${port}`)}`,
      };
      const message = { payload: {} };
      calls.push(adapters.asyncapi(httpCall({ document, channel: 'orders', message })));
    }
    const subscription = { consume: { amount: 1 } };
    const list = encodeURIComponent(`kafka|127.0.0.2:${port},${host}:${port}`);
    const document = { endpoint: `${lure.url}/asyncapi/${list}` };
    calls.push(adapters.asyncapi(httpCall({ document, channel: 'orders', subscription })));
    for (const call of calls)
      expect([host, (await faultOf(call)).kind]).toEqual([
        host,
        expect.stringMatching(new RegExp(REFUSED.join('|'))),
      ]);
  }
  expect(packets).toBe(0);
});

describe('egress by webhooks and pushes', () => {
  test('refuses forbidden addresses and names', async () => {
    for (const url of ALL()) expect([url, await send(url)]).toEqual([url, { refusal: expect.any(String) }]);
    expect(packets).toBe(0);
  });

  test('reports a redirect instead of following it', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      expect(
        await send(`${lure.url}/${status}/${encodeURIComponent(`http://127.0.0.2:${port}/`)}`),
      ).toMatchObject({ status });
    }
    expect(packets).toBe(0);
  });
});

test('a name is looked up once for each connection, so a later answer of DNS has no effect', async () => {
  const answers: string[] = [];
  const rebinding = createEgressPolicy({
    allow: ['rebinding.example'],
    lookup: async () => {
      answers.push(answers.length === 0 ? '127.0.0.1' : '127.0.0.2');
      return [{ address: answers.at(-1) ?? '', family: 4 }];
    },
  });
  try {
    const answer = await createDeliverySender(rebinding).send({
      url: `http://rebinding.example:${lure.port}/`,
      headers: {},
      body: '{}',
      timeoutMs: 60_000,
      signal: new AbortController().signal,
    });
    expect(answer).toMatchObject({ status: 404 });
    expect(answers).toEqual(['127.0.0.1']);
  } finally {
    await rebinding.close();
  }
  // The other way round: the name is private at the time of the connection, whatever it was before.
  lookups.length = 0;
  expect(await send(`https://private.example:${port}/`)).toEqual({
    refusal: expect.stringContaining('not allowed'),
  });
  expect(lookups).toEqual(['private.example']);
  expect(packets).toBe(0);
});

test('the trap counts each connection that reaches it', async () => {
  await send(`http://127.0.0.1:${port}/`);
  expect(packets).toBe(1);
});
