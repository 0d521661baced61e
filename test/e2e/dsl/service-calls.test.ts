/** `call: grpc`, `mcp` and `asyncapi` in runs of the whole platform. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from '../../support/app.ts';
import { startShop, type ShopServer } from '../../support/grpc-server.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { startMcpServer, type McpTestServer } from '../../support/mcp-server.ts';
import { startRun, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { readLog } from '../../support/run-log.ts';

const SECRET = 'token-of-the-tools';
let platform: TestPlatform;
let builder: Client;
let shop: ShopServer;
let tools: McpTestServer;
let feed: TestServer;

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  [shop, tools] = await Promise.all([startShop({ reflection: 'v1' }), startMcpServer({ token: SECRET })]);
  feed = await startServer(({ path, headers }, response) => {
    if (path === '/doc')
      return sendJson(response, {
        asyncapi: '3.0.0',
        servers: { main: { host: headers.host, protocol: 'http' } },
        channels: { readings: { address: 'readings' } },
      });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const value of [17, 21, 25, 19, 30]) response.write(`data: ${JSON.stringify({ value })}\n\n`);
    return undefined;
  });
  expect((await builder.put('/secrets/TOOLS', { value: SECRET })).status).toBeLessThan(300);
});
afterAll(async () => {
  await Promise.all([shop.close(), tools.close(), feed.close()]);
  await platform.close();
});

test('a run calls a gRPC service and a tool, whose secret appears nowhere', async () => {
  const definition = {
    use: { secrets: ['TOOLS'] },
    do: [
      {
        collect: {
          call: 'grpc',
          with: {
            service: { name: 'shop.v1.Shop', host: '127.0.0.1', port: shop.port },
            method: 'Collect',
            arguments: '${ .prices | map({ price: . }) }',
          },
        },
      },
      {
        echo: {
          call: 'mcp',
          with: {
            method: 'tools/call',
            parameters: { name: 'echo', arguments: { text: '${ "\\(.count) of " + $secrets.TOOLS }' } },
            transport: {
              http: {
                endpoint: {
                  uri: `${tools.url}/mcp`,
                  authentication: { bearer: { token: '${ $secrets.TOOLS }' } },
                },
              },
            },
            timeout: { seconds: 20 },
          },
        },
      },
    ],
  };
  const run = await startRun(builder, definition, { prices: [3, 4] }, 60);
  expect(run).toMatchObject({
    status: 'completed',
    output: { content: [{ type: 'text', text: '<SECRET>' }] },
  });
  expect(JSON.stringify([run, await readLog(builder, run['id'])])).not.toContain(SECRET);
});

test('a subscription runs its tasks for each message, in order, with their output and export', async () => {
  const definition = {
    do: [
      {
        follow: {
          call: 'asyncapi',
          with: {
            document: { endpoint: `${feed.url}/doc` },
            channel: 'readings',
            subscription: {
              filter: '${ .payload.value >= $workflow.input.least }',
              consume: { until: '${ length == 3 }', for: { seconds: 30 } },
              foreach: {
                item: 'reading',
                at: 'place',
                do: [{ label: { set: { text: '${ "\\($place): \\($reading.payload.value)" }' } } }],
                output: { as: '.text' },
                export: { as: '$context + {last: .}' },
              },
            },
          },
        },
      },
      { together: { set: { all: '${ . }', last: '${ $context.last }' } } },
    ],
  };
  const run = await startRun(builder, definition, { least: 20 }, 60);
  expect(run).toMatchObject({
    status: 'completed',
    output: { all: ['0: 21', '1: 25', '2: 30'], last: '2: 30' },
  });
});

test('a protocol that cannot be called is refused when a definition is saved', async () => {
  const definition = {
    do: [
      {
        tell: {
          call: 'asyncapi',
          with: {
            document: { endpoint: `${feed.url}/doc` },
            operation: 'tell',
            protocol: 'amqp1',
            message: { payload: {} },
          },
        },
      },
    ],
  };
  const { body } = await builder.post('/workflows', { name: 'amqp1', definition });
  expect(body).toMatchObject({ runnable: false });
  expect(body.problems).toMatchObject([
    { code: 'unsupported_asyncapi_protocol', pointer: '/do/0/tell/with/protocol' },
  ]);
});
