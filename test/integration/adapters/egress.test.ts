import { expect, test } from '@jest/globals';
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createEgressPolicy } from '../../../adapters/egress/create-egress-policy.ts';
import type { EgressPolicy, EgressRequest } from '../../../adapters/egress/egress.ts';
import { startServer, type TestServer } from '../../support/http-server.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { until } from '../../support/platform.ts';

const opened = closedAfterEach();

async function server(handler: Parameters<typeof startServer>[0]): Promise<TestServer> {
  return opened(await startServer(handler));
}

function policy(settings: Parameters<typeof createEgressPolicy>[0] = { allow: ['127.0.0.1'] }): EgressPolicy {
  const created = createEgressPolicy(settings);
  opened(created);
  return created;
}

function get(url: string, more: Partial<EgressRequest> = {}): EgressRequest {
  return { url, method: 'GET', timeoutMs: 60_000, signal: new AbortController().signal, ...more };
}

const failure = async (answer: Promise<unknown>) => {
  const error: any = await answer.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error?.name).toBe('Fault');
  return { kind: error.error.type.split('/').pop(), status: error.error.status, detail: error.error.detail };
};

test('a request to an allowed address is answered', async () => {
  const target = await server((_, response) => void response.setHeader('X-A', ['1', '2']).end('hello'));
  const answer = await policy().request(get(`${target.url}/x?y=1`));
  expect({ ...answer, bytes: Buffer.from(answer.bytes).toString() }).toMatchObject({
    status: 200,
    bytes: 'hello',
    url: `${target.url}/x?y=1`,
    headers: { 'x-a': '1, 2' },
  });
});

test.each([
  'http://127.0.0.1:PORT',
  'http://localhost:PORT',
  'http://2130706433:PORT',
  'http://0x7f.1:PORT',
  'http://017700000001:PORT',
  'http://[::ffff:127.0.0.1]:PORT',
  'http://[::1]:PORT',
  'http://0:PORT',
])('%s is refused by default', async (form) => {
  const target = await server((_, response) => void response.end('secret'));
  const refused = await failure(policy({}).request(get(form.replace('PORT', String(target.port)))));
  expect(refused).toMatchObject({ kind: 'authorization', status: 403 });
  expect(refused.detail).toContain('EGRESS_ALLOW');
  expect(target.seen).toHaveLength(0);
});

test('a name is looked up once, and refused if any of its addresses is private', async () => {
  let lookups = 0;
  const egress = policy({
    lookup: async () => {
      lookups += 1;
      return [
        { address: '93.184.216.34', family: 4 },
        { address: '10.0.0.5', family: 4 },
      ];
    },
  });
  expect(await failure(egress.request(get('http://mixed.test/')))).toMatchObject({ kind: 'authorization' });
  expect(lookups).toBe(1);
});

test('a rebinding name is connected to the address that was checked', async () => {
  const target = await server((_, response) => void response.end('judged'));
  const answers = ['127.0.0.1', '169.254.169.254'];
  let lookups = 0;
  const egress = policy({
    allow: ['127.0.0.1'],
    lookup: async () => [{ address: answers[lookups++] ?? '10.0.0.1', family: 4 }],
  });
  const answer = await egress.request(get(`http://rebind.test:${target.port}/`));
  expect(Buffer.from(answer.bytes).toString()).toBe('judged');
  expect(lookups).toBe(1);
});

test.each([
  'file:///etc/passwd',
  'gopher://127.0.0.1/',
  'http://user:pass@127.0.0.1/',
  'not a url',
  '/relative',
])('%s is refused as a URL', async (url) => {
  expect(await failure(policy().request(get(url)))).toMatchObject({ kind: 'configuration' });
});

test('each redirect is checked again', async () => {
  const inner = await server((_, response) => void response.end('inner'));
  const outer = await server(
    (_, response) => void response.writeHead(302, { location: `http://localhost:${inner.port}/` }).end(),
  );
  const egress = policy({ allow: ['127.0.0.1'], lookup: async () => [{ address: '10.0.0.1', family: 4 }] });
  expect(await failure(egress.request(get(outer.url)))).toMatchObject({ kind: 'authorization' });
  expect(inner.seen).toHaveLength(0);
});

test('credentials are not sent to another origin', async () => {
  const other = await server((_, response) => void response.end('other'));
  const first = await server(
    (request, response) =>
      void response
        .writeHead(302, { location: request.path === '/same' ? '/away' : `${other.url}/there` })
        .end(),
  );
  await policy().request(
    get(`${first.url}/same`, {
      headers: { authorization: 'Bearer s', 'x-api-key': 's', accept: 'text/plain' },
    }),
  );
  expect(first.seen.map(({ headers }) => headers['x-api-key'])).toEqual(['s', 's']);
  expect(other.seen[0]?.headers).toMatchObject({ accept: 'text/plain' });
  expect(JSON.stringify(other.seen[0]?.headers)).not.toContain('"s"');
  expect(other.seen[0]?.headers.authorization).toBeUndefined();
});

test('a body is not sent to another host, and a POST becomes a GET after 303 as in browsers', async () => {
  const other = await server((_, response) => void response.end('other'));
  const first = await server((request, response) => {
    if (request.path === '/done') return void response.end('done');
    response
      .writeHead(request.path === '/303' ? 303 : 307, {
        location: request.path === '/303' ? '/done' : `${other.url}/`,
      })
      .end();
  });
  const post = { method: 'POST', body: '{"card":1}', headers: { 'content-type': 'application/json' } };
  expect(await failure(policy().request(get(`${first.url}/307`, post)))).toMatchObject({
    kind: 'communication',
  });
  expect(other.seen).toHaveLength(0);
  await policy().request(get(`${first.url}/303`, post));
  expect(first.seen.at(-1)).toMatchObject({ method: 'GET', path: '/done', body: '' });
});

test('a redirect loop ends as a communication error', async () => {
  const target = await server((_, response) => void response.writeHead(302, { location: '/again' }).end());
  expect(await failure(policy().request(get(target.url)))).toMatchObject({ kind: 'communication' });
  expect(target.seen.length).toBeLessThan(10);
});

test('a mapped host reaches the stub, which sees the original host name', async () => {
  const stub = await server((_, response) => void response.end('stub'));
  const answer = await policy({ hostMap: [{ from: 'https://api.example.com', to: stub.url }] }).request(
    get('https://api.example.com/v1/x?y=1'),
  );
  expect(answer.url).toBe('https://api.example.com/v1/x?y=1');
  expect(stub.seen[0]).toMatchObject({ path: '/v1/x?y=1', headers: { host: 'api.example.com' } });
});

test('an endless response is cut off', async () => {
  const target = await server((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(65536)));
    };
    response.on('drain', more);
    more();
  });
  expect(await failure(policy().request(get(target.url, { maxBytes: 1_000_000 })))).toMatchObject({
    kind: 'communication',
    status: 502,
    detail: expect.stringContaining('1000000 bytes'),
  });
});

test('a compressed response is decoded, and cut off at the limit', async () => {
  const target = await server((request, response) => {
    response
      .writeHead(200, { 'content-encoding': 'gzip' })
      .end(gzipSync(request.path === '/bomb' ? Buffer.alloc(50_000_000) : 'fair'));
  });
  expect(await failure(policy().request(get(`${target.url}/bomb`, { maxBytes: 1_000_000 })))).toMatchObject({
    detail: expect.stringContaining('larger'),
  });
  expect(Buffer.from((await policy().request(get(`${target.url}/fair`))).bytes).toString()).toBe('fair');
});

test('wrong and stacked encodings are communication errors', async () => {
  const target = await server(
    (request, response) =>
      void response.writeHead(200, { 'content-encoding': request.path.slice(1) }).end('plain'),
  );
  for (const coding of ['gzip', 'gzip,gzip,gzip', 'weird']) {
    expect(await failure(policy().request(get(`${target.url}/${coding}`)))).toMatchObject({
      kind: 'communication',
      status: 502,
    });
  }
});

test('a hanging response times out, before and inside the body', async () => {
  const target = await server((request, response) => {
    if (request.path === '/half') response.write('half');
  });
  for (const path of ['/none', '/half']) {
    expect(await failure(policy().request(get(target.url + path, { timeoutMs: 100 })))).toMatchObject({
      kind: 'timeout',
      status: 408,
    });
  }
});

test('cancelling throws the reason and closes the connection', async () => {
  let closed = false;
  const target = await server(
    (_, __, raw) =>
      void raw.socket.on('close', () => {
        closed = true;
      }),
  );
  const controller = new AbortController();
  const answer = policy().request(get(target.url, { signal: controller.signal }));
  void until(
    async () => target.seen.length,
    (count) => count > 0,
  ).then(() => controller.abort(new Error('cancelled by test')));
  await expect(answer).rejects.toThrow('cancelled by test');
  expect(await until(async () => closed, Boolean)).toBe(true);
});

test('a refused connection and a response that is not HTTP are communication errors', async () => {
  const target = await server((_, response) => void response.end());
  await target.close();
  expect(await failure(policy().request(get(target.url)))).toMatchObject({
    kind: 'communication',
    status: 503,
    detail: expect.stringContaining('refused'),
  });

  const nonsense = createServer((socket) => socket.on('data', () => socket.end('this is not HTTP\r\n\r\n')));
  await new Promise<void>((resolve) => nonsense.listen(0, '127.0.0.1', resolve));
  const address: any = nonsense.address();
  expect(await failure(policy().request(get(`http://127.0.0.1:${address.port}/`)))).toMatchObject({
    kind: 'communication',
  });
  nonsense.close();
});

test('an unknown host is a communication error', async () => {
  const egress = policy({
    lookup: async () => {
      throw Object.assign(new Error('no'), { code: 'ENOTFOUND' });
    },
  });
  expect(await failure(egress.request(get('http://nowhere.test/')))).toMatchObject({
    kind: 'communication',
    status: 503,
    detail: expect.stringContaining('DNS'),
  });
});
