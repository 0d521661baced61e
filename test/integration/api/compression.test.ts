/** Which responses are compressed, for which clients, and with which headers. */
import { request, type IncomingHttpHeaders } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';

interface RawReply {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
}

let app: TestApp;
let token: string;
let agentId: string;

beforeAll(async () => {
  app = await startTestApp();
  ({ token } = await app.user('builder'));
  const builder = await app.as('builder');
  const created = await builder.post('/agents', agentBody({ description: 'word '.repeat(300) }));
  expect(created.status).toBe(201);
  agentId = created.body.id;
});
afterAll(() => app.close());

/** Reads the raw bytes, which fetch would decode. */
function send(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: unknown,
): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const auth = { authorization: `Bearer ${token}` };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = request(
      app.url + path,
      { method, headers: { ...auth, ...type, ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes: Buffer.concat(chunks),
          }),
        );
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const get = (path: string, encodings?: string, headers: Record<string, string> = {}): Promise<RawReply> =>
  send('GET', path, { ...(encodings === undefined ? {} : { 'accept-encoding': encodings }), ...headers });

test('JSON over 1 kB is compressed by the preferred coding, with length, type and Vary', async () => {
  const plain = await get(`/agents/${agentId}`);
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(plain.headers.vary).toContain('Accept-Encoding');
  const decoders = { gzip: gunzipSync, br: brotliDecompressSync };
  for (const [accepted, coding] of [
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['br;q=0.5, gzip', 'gzip'],
    ['gzip;q=0, *', 'br'],
  ] as const) {
    const { headers, bytes } = await get(`/agents/${agentId}`, accepted);
    expect([accepted, headers['content-encoding']]).toEqual([accepted, coding]);
    expect(headers['content-type']).toBe('application/json');
    expect(headers.vary).toContain('Accept-Encoding');
    expect(headers['content-length']).toBe(String(bytes.length));
    expect(bytes.length).toBeLessThan(plain.bytes.length / 2);
    expect(decoders[coding](bytes).equals(plain.bytes)).toBe(true);
  }
});

test('a client that accepts neither gzip nor br gets plain JSON', async () => {
  for (const accepted of [undefined, '', 'identity', 'gzip;q=0', 'zstd', 'identity, gzip;q=0.5']) {
    const { headers, bytes } = await get(`/agents/${agentId}`, accepted);
    expect([accepted, headers['content-encoding']]).toEqual([accepted, undefined]);
    expect(JSON.parse(bytes.toString())).toMatchObject({ id: agentId });
  }
});

test('small responses are not compressed', async () => {
  const { headers, bytes } = await get('/secrets', 'gzip');
  expect([headers['content-encoding'], headers.vary, bytes.toString()]).toEqual([
    undefined,
    'Accept-Encoding',
    '[]',
  ]);
});

test('HEAD has the headers of GET', async () => {
  const [got, head] = [
    await get(`/agents/${agentId}`, 'gzip'),
    await send('HEAD', `/agents/${agentId}`, { 'accept-encoding': 'gzip' }),
  ];
  expect(head.bytes).toHaveLength(0);
  for (const name of ['content-encoding', 'content-length', 'content-type', 'etag', 'vary'])
    expect([name, head.headers[name]]).toEqual([name, got.headers[name]]);
});

test('each coding has its own strong ETag, and If-Match accepts each of them', async () => {
  const tags = [];
  for (const accepted of ['identity', 'gzip', 'br']) {
    const { etag = '' } = (await get(`/agents/${agentId}`, accepted)).headers;
    const changed = await send(
      'PATCH',
      `/agents/${agentId}`,
      { 'if-match': `"older:gzip", ${etag}` },
      { tags: [accepted] },
    );
    expect([accepted, changed.status]).toEqual([accepted, 200]);
    expect((await send('PATCH', `/agents/${agentId}`, { 'if-match': etag }, { tags: [] })).status).toBe(412);
    tags.push(etag);
  }
  expect(tags).toEqual([
    expect.stringMatching(/^"[\w-]+"$/),
    expect.stringMatching(/^"[\w-]+:gzip"$/),
    expect.stringMatching(/^"[\w-]+:br"$/),
  ]);
});

test('a known agent card gets 304, compressed or not', async () => {
  const path = `/a2a/${agentId}/.well-known/agent-card.json`;
  const { headers } = await get(path, 'gzip');
  expect(headers['content-encoding']).toBe('gzip');
  const again = await get(path, 'gzip', { 'if-none-match': headers.etag ?? '' });
  expect([again.status, again.bytes.length, again.headers['content-encoding']]).toEqual([304, 0, undefined]);
});

test('A2A responses, pages and problems are compressed', async () => {
  const call = { jsonrpc: '2.0', id: 'x'.repeat(2_000), method: 'tasks/nothing' };
  const rpc = await send('POST', `/a2a/${agentId}`, { 'accept-encoding': 'gzip' }, call);
  expect([rpc.status, rpc.headers['content-encoding'], JSON.parse(gunzipSync(rpc.bytes).toString())]).toEqual(
    [200, 'gzip', expect.objectContaining({ id: call.id })],
  );
  const page = await get('/docs', 'br');
  expect([page.headers['content-encoding'], page.headers['content-type']]).toEqual([
    'br',
    'text/html; charset=utf-8',
  ]);
  const unknown = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`unknown_field_${index}`, 1]));
  const problem = await send('POST', '/agents', { 'accept-encoding': 'gzip' }, unknown);
  expect([problem.status, problem.headers['content-encoding'], problem.headers['content-type']]).toEqual([
    422,
    'gzip',
    'application/problem+json',
  ]);
});

test('a response that holds a secret is not compressed', async () => {
  const webhook = await send(
    'POST',
    '/webhooks',
    { 'accept-encoding': 'gzip' },
    { url: 'https://example.com/hook', description: 'x'.repeat(1_000) },
  );
  expect([webhook.status, webhook.headers['content-encoding']]).toEqual([201, undefined]);
  expect(webhook.bytes.length).toBeGreaterThan(1_024);
  expect(JSON.parse(webhook.bytes.toString())).toMatchObject({ secret: expect.stringMatching(/^whsec_/) });
  const login = { username: 'reader', password: 'a long enough password' };
  const admin = await app.as('admin');
  expect(
    (await admin.post('/users', { ...login, email: 'reader@example.com', roles: ['viewer'] })).status,
  ).toBe(201);
  const granted = await send('POST', '/auth/token', { 'accept-encoding': 'gzip' }, login);
  expect([granted.status, granted.headers['cache-control'], granted.headers['content-encoding']]).toEqual([
    200,
    'no-store',
    undefined,
  ]);
});

test('files and event streams are not compressed', async () => {
  const stored = JSON.stringify({ text: 'word '.repeat(1_000) });
  const builder = await app.as('builder');
  const file = await builder.post('/files', stored, {
    headers: { 'content-type': 'application/json', 'content-disposition': 'attachment; filename="a.json"' },
  });
  expect(file.status).toBe(201);
  const content = await get(`/files/${file.body.id}`, 'gzip');
  expect([content.headers['content-encoding'], content.headers.etag, content.bytes.toString()]).toEqual([
    undefined,
    expect.stringMatching(/^"[^:]+"$/),
    stored,
  ]);
  const part = await get(`/files/${file.body.id}`, 'gzip', { range: 'bytes=0-5' });
  expect([part.status, part.bytes.toString()]).toEqual([206, stored.slice(0, 6)]);
  const stop = new AbortController();
  const stream = await fetch(`${app.url}/events`, {
    headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'gzip' },
    signal: stop.signal,
  });
  expect([stream.status, stream.headers.get('content-type'), stream.headers.get('content-encoding')]).toEqual(
    [200, expect.stringContaining('event-stream'), null],
  );
  stop.abort();
});
