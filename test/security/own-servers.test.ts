/**
 * Agents and workflows cannot reach the platform's own servers on a machine that allows loopback, as
 * `npm start` does.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createEgressPolicy } from '../../adapters/egress/create-egress-policy.ts';
import { ownServers } from '../../config/own-servers.ts';
import { agentBody } from '../support/agent-body.ts';
import { faultOf } from '../support/agent-call.ts';
import type { Client } from '../support/app.ts';
import { startServer, type TestServer } from '../support/http-server.ts';
import { startTestPlatform, until, type RunRecord, type TestPlatform } from '../support/platform.ts';
import { agentTask, httpTask } from '../support/definitions.ts';
import { ownPort } from '../support/machine.ts';

const token = randomBytes(32).toString('base64url');
const call = (endpoint: string) => ({ do: [{ ask: httpTask(endpoint) }] });
const portOf = (url: string): number => Number(new URL(url).port);

let platform: TestPlatform;
let builder: Client;
let stub: TestServer;
let postgres: string;

beforeAll(async () => {
  stub = await startServer(({ path }, response) => {
    if (path.startsWith('/to/'))
      response.writeHead(302, { location: decodeURIComponent(path.slice(4)) }).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"mine":true}');
  });
  platform = await startTestPlatform({
    env: {
      TEMPORAL_CODEC_TOKEN: token,
      METRICS_TOKEN: token,
      EGRESS_HOST_MAP: 'https://mapped.example=http://127.0.0.1:9',
    },
  });
  builder = await platform.as('builder');
  postgres = `http://127.0.0.1:${portOf(platform.databaseUrl)}`;
});
afterAll(async () => {
  await stub.close();
  await platform.close();
});

async function refusal(definition: unknown): Promise<RunRecord> {
  const run = await platform.runToEnd(definition);
  return { status: run['status'], type: run['error']?.type?.split('/').at(-1), detail: run['error']?.detail };
}
const refused = {
  status: 'faulted',
  type: 'authorization',
  detail: expect.stringContaining('is not allowed'),
};

test('other servers of this machine can be called', async () => {
  expect(await platform.runToEnd(call(stub.url))).toMatchObject({
    status: 'completed',
    output: { mine: true },
  });
});

test('a task is refused Temporal, its UI, PostgreSQL, the codec and the metrics', async () => {
  const { address, uiUrl } = platform.temporal as { address: string; uiUrl?: string };
  const urls = [
    `http://${address}/`,
    ...(uiUrl ? [`${uiUrl}/api/v1/settings`] : []),
    `${postgres}/`,
    `${platform.url}/temporal-codec/${token}/decode`,
    `${platform.url}/api/v1/metrics`,
    `${platform.url}/%6detrics`,
  ];
  for (const url of urls) expect([url, await refusal(call(url))]).toEqual([url, refused]);
});

test('an agent, a redirect and a webhook are refused the same servers', async () => {
  const redirecting = `${stub.url}/to/${encodeURIComponent(postgres)}`;
  for (const agent of [
    agentBody({ name: 'by-api', configuration: { endpoint: postgres } }),
    agentBody({ name: 'by-redirect', configuration: { endpoint: redirecting, method: 'get' } }),
    agentBody({ name: 'by-a2a', type: 'a2a', url: `http://${platform.temporal.address}` }),
  ]) {
    expect((await builder.post('/agents', agent)).status).toBe(201);
    expect([
      agent['name'],
      await refusal({ do: [{ ask: agentTask(String(agent['name']), { input: { q: 1 } }) }] }),
    ]).toEqual([agent['name'], refused]);
  }
  const hook = await builder.post('/webhooks', { url: `${postgres}/hook`, types: ['*'] });
  // Refused when it is created, or when it is delivered.
  if (hook.status !== 201) return expect(hook.status).toBe(422);
  await platform.runToEnd({ do: [{ one: { set: { a: 1 } } }] });
  const deliveries = async () =>
    (await builder.get(`/webhooks/${hook.body.id}/deliveries`)).body as RunRecord[];
  const [failed] = await until(deliveries, (found) =>
    found.some((event) => JSON.stringify(event).includes('not allowed')),
  );
  return expect(failed?.['status']).not.toBe('delivered');
});

test('ordinary paths of the API can be called', async () => {
  const answer = await platform.runToEnd(call(`${platform.url}/healthz`));
  expect(answer).toMatchObject({ status: 'completed', output: { status: 'ok' } });
});

/** This server counts connections: a refusal sends no packet. */
describe('a server of ours', () => {
  let own: Server;
  let connections = 0;
  let port = 0;
  beforeAll(async () => {
    own = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    port = await ownPort();
    await new Promise<void>((resolve) => own.listen(port, '0.0.0.0', resolve));
  });
  afterAll(() => new Promise((resolve) => own.close(resolve)));

  test('is reached by no spelling of this machine, and by no host map entry', async () => {
    const env = {
      ...platform.env,
      DATABASE_URL: `postgres://u:p@localhost:${port}/x`,
      TEMPORAL_ADDRESS: platform.temporal.address,
    };
    const egress = createEgressPolicy({
      allow: ['0.0.0.0/0', '::/0', 'localhost', '*.test'],
      hostMap: [{ from: 'https://mapped.example', to: `http://127.0.0.1:${port}` }],
      own: ownServers(env),
      lookup: async (name) => [{ address: name === 'localhost' ? '127.0.0.1' : '127.0.0.3', family: 4 }],
    });
    const outward = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => address);
    const hosts = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f.1',
      '0',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      'localhost',
      'LOCALHOST.',
      'evil.test',
      ...outward,
    ];
    const request = { method: 'GET', timeoutMs: 60_000, signal: new AbortController().signal };
    try {
      for (const origin of [...hosts.map((host) => `http://${host}:${port}`), 'https://mapped.example']) {
        const url = `${origin}/`;
        const expected = [origin, { kind: 'authorization', status: 403 }];
        const shown = (fault: object) =>
          Object.fromEntries(Object.entries(fault).filter(([name]) => name === 'kind' || name === 'status'));
        expect([origin, shown(await faultOf(egress.request({ ...request, url })))]).toEqual(expected);
        expect([origin, shown(await faultOf(egress.stream({ ...request, url })))]).toEqual(expected);
        expect([origin, shown(await faultOf(egress.pin(origin)))]).toEqual(expected);
      }
    } finally {
      await egress.close();
    }
    expect(connections).toBe(0);
  });
});
