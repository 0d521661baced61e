/**
 * The counterparts of the scenarios: an HTTP server with a few addresses and the scenarios' files, a gRPC
 * server, an MCP server, and an MQTT broker with two messages that it keeps.
 */
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { Aedes } from 'aedes';
import { ITEM_PROTO, SHOP_PROTO, SIZE_PROTO, startShop } from '../../support/grpc-server.ts';
import { keepIdle } from '../../support/http-server.ts';
import { startMcpServer } from '../../support/mcp-server.ts';

const SERVICE = 'https://service.test';

export interface ScenarioServices {
  /** Value of EGRESS_HOST_MAP. */
  hostMap: string;
  /** Serves a text below `https://service.test/files/`. */
  serve(path: string, text: string): void;
  close(): Promise<void>;
}

/**
 * `/echo/…` answers what it got, `/status/<n>` with that status, `/times/<name>/<n>` n times with 503 and
 * then with how often it was asked, `/slow` after ten seconds, `/guarded/…` serves a file to `user:pass`,
 * `/events/…` sends five numbers and stays open.
 */
export async function startScenarioServices(): Promise<ScenarioServices> {
  const files = new Map([
    ['protos/shop/v1/shop.proto', SHOP_PROTO],
    ['protos/shop/v1/item.proto', ITEM_PROTO],
    ['protos/shop/v1/size.proto', SIZE_PROTO],
  ]);
  const [shop, tools, broker] = await Promise.all([
    startShop({ reflection: 'v1' }),
    startMcpServer(),
    startBroker(),
  ]);
  const asked = new Map<string, number>();
  const server = createServer(keepIdle, (request, response) => {
    const url = new URL(request.url ?? '/', SERVICE);
    const [, kind, name = '', count] = url.pathname.split('/');
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const file = (): void => {
      const text = files.get(url.pathname.replace(/^\/[^/]+\//, ''));
      if (text === undefined) return answer(404, { message: 'no such file' });
      response.writeHead(200, { 'content-type': 'application/yaml' }).end(text);
    };
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      if (kind === 'files') return file();
      if (kind === 'events') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const n of [1, 2, 3, 4, 5]) response.write(`data: ${JSON.stringify({ n, id: `i${n}` })}\n\n`);
        return undefined;
      }
      if (kind === 'guarded') {
        const expected = `Basic ${Buffer.from('user:pass').toString('base64')}`;
        return request.headers.authorization === expected ? file() : answer(401, { message: 'who are you?' });
      }
      if (kind === 'status') return answer(Number(name), { status: Number(name) });
      if (kind === 'times') {
        const times = (asked.get(name) ?? 0) + 1;
        asked.set(name, times);
        return times <= Number(count) ? answer(503, { times }) : answer(200, { times });
      }
      if (kind === 'slow') return void setTimeout(() => answer(200, {}), 10_000).unref();
      answer(200, {
        method: request.method,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: request.headers,
        body: text === '' ? null : JSON.parse(text),
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The address of a listening TCP server has this type.
  const { port } = server.address() as AddressInfo;
  const mapped = {
    [SERVICE]: port,
    'https://grpc.test': shop.port,
    'https://tools.test': new URL(tools.url).port,
    'https://broker.test:8883': broker.port,
  };
  return {
    hostMap: Object.entries(mapped)
      .map(([from, to]) => `${from}=http://127.0.0.1:${to}`)
      .join(','),
    serve: (path, text) => void files.set(path, text),
    async close() {
      await Promise.all([shop.close(), tools.close(), broker.close()]);
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function startBroker(): Promise<{ port: number; close(): Promise<void> }> {
  const broker = await Aedes.createBroker();
  const tcp = createTcpServer(broker.handle);
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  for (const name of ['one', 'two'])
    await new Promise<void>((resolve, reject) =>
      broker.publish(
        {
          cmd: 'publish',
          topic: `kept/${name}`,
          payload: Buffer.from(name),
          qos: 1,
          retain: true,
          dup: false,
        },
        (error) => (error ? reject(error) : resolve()),
      ),
    );
  return {
    // The address of a listening TCP server has this type.
    port: (tcp.address() as AddressInfo).port,
    async close() {
      await new Promise<void>((resolve) => broker.close(resolve));
      tcp.close();
    },
  };
}
