/** The DSL's `call: grpc` against real servers. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { faultOf, httpCall } from '../../support/agent-call.ts';
import { ITEM_PROTO, SHOP_PROTO, SIZE_PROTO, startShop, type ShopServer } from '../../support/grpc-server.ts';
import { startServer, type TestServer } from '../../support/http-server.ts';
import { until } from '../../support/platform.ts';
import { testTemporal } from '../../support/servers.ts';

const opened = closedAfterEach();
const shop = async (options: Parameters<typeof startShop>[0] = {}): Promise<ShopServer> =>
  opened(await startShop(options));

/** Serves the documents below `/protos`, where their packages say they are. */
async function documents(files: Record<string, string> = {}): Promise<TestServer> {
  const all: Record<string, string> = {
    '/protos/shop/v1/shop.proto': SHOP_PROTO,
    '/protos/shop/v1/item.proto': ITEM_PROTO,
    '/protos/shop/v1/size.proto': SIZE_PROTO,
    ...files,
  };
  return opened(
    await startServer(({ path }, response) => {
      response.writeHead(all[path] === undefined ? 404 : 200, { 'content-type': 'text/plain' });
      response.end(all[path]);
    }),
  );
}

interface Options {
  secrets?: Record<string, string>;
  timeoutMs?: number;
  signal?: AbortSignal;
}

// Tests read any property of a result.
async function call(args: Record<string, unknown>, options: Options = {}): Promise<any> {
  const egress = opened(createEgressPolicy({ allow: ['127.0.0.1', 'localhost'] }));
  return (await createAdapters({ egress }).grpc(httpCall(args, options))).output;
}

const service = ({ port }: ShopServer, more: Record<string, unknown> = {}) => ({
  service: { name: 'shop.v1.Shop', host: 'localhost', port, ...more },
});
const proto = ({ url }: TestServer, path = '/protos/shop/v1/shop.proto') => ({
  proto: { endpoint: `${url}${path}` },
});
const order = {
  items: [
    { displayName: 'pen', price: '9007199254740993', size: 'LARGE' },
    { display_name: 'ink', price: 2 },
  ],
  amounts: { pen: 4 },
  note: 'soon',
  cash: true,
  placedAt: '2026-01-02T03:04:05Z',
  signature: 'aGk=',
};

test('unary, by the document and its imports, which are looked for where the packages are', async () => {
  const [target, source] = [await shop(), await documents()];
  const args = { ...service(target), ...proto(source), method: 'Place', arguments: order };
  expect(await call(args)).toEqual({ count: 2, total: '9007199254740994', largest: 'LARGE', note: 'soon' });
  expect(target.seen[0]?.messages).toEqual([
    {
      items: [
        { display_name: 'pen', price: '9007199254740993', size: 'LARGE' },
        { display_name: 'ink', price: '2' },
      ],
      amounts: { pen: '4' },
      note: 'soon',
      cash: true,
      placed_at: { seconds: '1767323045' },
      signature: 'aGk=',
    },
  ]);
  expect(target.seen[0]?.metadata.get('idempotency-key')).toEqual(['run-1/do/0/call/1/1']);
  expect(source.seen.map(({ path }) => path)).toContain('/protos/shop/v1/item.proto');
});

test.each(['v1', 'v1alpha'] as const)('every kind of stream, by server reflection %s', async (reflection) => {
  const target = await shop({ reflection });
  const items = [{ displayName: 'a', price: '1', size: 'SMALL' }, { displayName: 'b' }];
  const at = service(target);
  expect(await call({ ...at, method: 'Follow', arguments: { count: 2 } })).toEqual([
    { displayName: 'item 1', price: '1', size: 'SIZE_UNKNOWN' },
    { displayName: 'item 2', price: '2', size: 'SIZE_UNKNOWN' },
  ]);
  expect(await call({ ...at, method: 'Collect', arguments: items })).toMatchObject({ count: 2 });
  expect(await call({ ...at, method: 'Collect' })).toMatchObject({ count: 0 });
  expect(await call({ ...at, method: 'Echo', arguments: items })).toMatchObject(items);
});

test('a server that others wrote is described and called by reflection', async () => {
  const { address } = await testTemporal();
  const [host, port] = address.split(':');
  const at = { host, port: Number(port) };
  const health = { name: 'grpc.health.v1.Health', ...at };
  expect(await call({ service: health, method: 'Check' })).toEqual({ status: 'SERVING' });
  const workflows = { name: 'temporal.api.workflowservice.v1.WorkflowService', ...at };
  expect(await call({ service: workflows, method: 'GetSystemInfo' })).toMatchObject({
    serverVersion: expect.stringMatching(/^\d/),
    capabilities: { signalAndQueryHeader: true },
  });
});

test('metadata and credentials are sent, refusals have types of the DSL and no secrets', async () => {
  const target = await shop({ reflection: 'v1', token: 'token-of-shop' });
  const at = service(target, { authentication: { bearer: { use: 'TOKEN' } } });
  const secrets = { TOKEN: 'token-of-shop' };
  const metadata = { 'x-tenant': 'north' };
  await call({ ...at, method: 'Collect', metadata }, { secrets });
  expect(target.seen.at(-1)?.metadata.get('x-tenant')).toEqual(['north']);
  expect(await faultOf(call({ ...at, method: 'Refuse' }, { secrets }))).toEqual({
    kind: 'communication',
    status: 400,
    detail: `localhost:${target.port} answered FAILED_PRECONDITION: not before noon, said <TOKEN>`,
  });
  const refused = await faultOf(call({ ...at, method: 'Collect' }, { secrets: { TOKEN: 'wrong-token' } }));
  expect(refused).toMatchObject({ kind: 'authentication', status: 401 });
  expect(refused.detail).not.toContain('wrong-token');
});

test('mistakes are named', async () => {
  const target = await shop({ reflection: 'v1' });
  const broken = await documents({
    '/broken.proto': 'syntax = "proto3"; message {',
    '/none.proto': 'syntax = "proto3"; message A { B b = 1; }',
    '/%zz.proto': 'syntax = "proto3"; import "http://["; message A { B b = 1; }',
  });
  const at = service(target);
  const detail = async (args: Record<string, unknown>) => {
    const { kind, detail: text } = await faultOf(call(args));
    return `${kind}: ${text}`;
  };
  expect(await detail({ ...at, method: 'Plaec' })).toContain(
    'configuration: shop.v1.Shop has no method "Plaec": Place,',
  );
  expect(await detail({ ...at, method: 'Place', arguments: { colour: 1 } })).toMatch(
    /^validation: "arguments" is not a shop\.v1\.Order: .*colour/,
  );
  expect(await detail({ ...at, method: 'Place', arguments: [{}] })).toContain('Place takes no stream');
  const other = { service: { ...at.service, name: 'shop.v1.Store' } };
  expect(await detail({ ...other, ...proto(await documents()), method: 'Place' })).toContain(
    'it has shop.v1.Shop',
  );
  expect(await detail({ ...at, ...proto(broken, '/broken.proto'), method: 'Place' })).toContain(
    'is not a valid .proto document',
  );
  expect(await detail({ ...at, ...proto(broken, '/none.proto'), method: 'Place' })).toContain(
    "no such Type or Enum 'B'",
  );
  expect(await detail({ ...at, ...proto(broken, '/%zz.proto'), method: 'Place' })).toContain(
    'these imports were not found: http://[',
  );
  expect(await detail({ ...at, ...proto(broken, '/absent.proto'), method: 'Place' })).toContain(
    'was not found',
  );
  expect(await detail({ ...service(await shop()), method: 'Place' })).toContain(
    'does not offer server reflection',
  );
  const nobody = { name: 'a.B', host: '127.0.0.1', port: 1 };
  expect(await faultOf(call({ service: nobody, method: 'C' }))).toMatchObject({
    kind: 'communication',
    status: 503,
  });
});

test('a server that describes itself at great length is refused', async () => {
  const file = new BinaryWriter().tag(1, WireType.LengthDelimited).string('a.proto');
  file.tag(2, WireType.LengthDelimited).string('a');
  const method = new BinaryWriter().tag(1, WireType.LengthDelimited).string('S').finish();
  file.tag(6, WireType.LengthDelimited).bytes(method);
  for (let n = 0; n < 250_000; n++) file.tag(3, WireType.LengthDelimited).string('a.proto');
  const descriptors = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(file.finish()).finish();
  const answer = new BinaryWriter().tag(4, WireType.LengthDelimited).bytes(descriptors).finish();
  const port = await describe(Buffer.from(answer));
  const target = { name: 'a.S', host: '127.0.0.1', port };
  expect(await faultOf(call({ service: target, method: 'x' }))).toMatchObject({
    kind: 'configuration',
    detail: 'The description of a.S needs more than 2097152 bytes',
  });
});

/** A server whose reflection has one answer for everything. */
async function describe(answer: Buffer): Promise<number> {
  const same = (bytes: Buffer): Buffer => bytes;
  const codec = { requestSerialize: same, requestDeserialize: same };
  const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  const streams = { requestStream: true, responseStream: true } as const;
  const server = new Server();
  server.addService(
    { info: { path, ...streams, ...codec, responseSerialize: same, responseDeserialize: same } },
    {
      info: (stream: ServerDuplexStream<Buffer, Buffer>) => {
        stream.on('data', () => stream.write(answer));
        stream.on('end', () => stream.end());
      },
    },
  );
  opened({ close: async () => server.forceShutdown() });
  return new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    ),
  );
}

test('the egress policy holds for the server and its documents, whatever TLS is used', async () => {
  const target = await shop({ reflection: 'v1' });
  const egress = opened(createEgressPolicy({ allow: ['10.0.0.1'] }));
  const { grpc } = createAdapters({ egress });
  for (const more of [{}, { tls: true }, { host: '127.0.0.1' }])
    expect(await faultOf(grpc(httpCall({ ...service(target, more), method: 'Place' })))).toMatchObject({
      kind: 'authorization',
      detail: expect.stringContaining('EGRESS_ALLOW'),
    });
  expect(target.seen).toEqual([]);
});

test('a stream ends at its limits, and the server is told when the call is cancelled', async () => {
  const target = await shop({ reflection: 'v1' });
  const at = { ...service(target), method: 'Follow' };
  expect(await faultOf(call({ ...at, arguments: { count: 10_001 } }))).toMatchObject({
    detail: 'The server answered with more than 10000 messages',
  });
  expect(await faultOf(call({ ...at, arguments: { count: 9, bytes: 1_000_000 } }))).toMatchObject({
    detail: 'The server answered with more than 8388608 bytes',
  });
  const forever = { ...at, arguments: { count: 1, forever: true } };
  expect(await faultOf(call(forever, { timeoutMs: 700 }))).toMatchObject({ kind: 'timeout', status: 408 });
  await until(async () => target.open() === 0, Boolean);
  const cancel = new AbortController();
  const following = call(forever, { signal: cancel.signal });
  await until(async () => target.following.begun === 4, Boolean);
  cancel.abort(new Error('cancelled by the test'));
  await expect(following).rejects.toThrow('cancelled by the test');
  await until(async () => target.open() === 0, Boolean);
});
