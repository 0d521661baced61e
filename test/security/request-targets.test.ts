/** Requests for a whole address, as proxies get them (RFC 9112 section 3.2.2), and without any host. */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestApp, type TestApp } from '../support/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

/** @returns status and body */
async function send(...head: string[]): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  socket.write([...head, 'Connection: close', '', ''].join('\r\n'));
  const answer = await text(socket);
  const [start = '', ...rest] = answer.split('\r\n\r\n');
  return { status: Number(start.split(' ')[1]), body: rest.join('') };
}

const host = 'Host: 127.0.0.1';

test.each([
  'http://[::bad',
  'http://[::bad/healthz',
  'http://a b/',
  'http://%/',
  'http://a:99999999/',
  'ftp://127.0.0.1/healthz',
  'javascript:alert(1)',
  'healthz',
  '://',
])('the target %s is refused, and the server goes on', async (target) => {
  const { status, body } = await send(`GET ${target} HTTP/1.1`, host);
  expect(status).toBe(400);
  if (!target.includes(' '))
    expect(JSON.parse(body)).toMatchObject({ status: 400, code: 'malformed_request' });
  expect((await send('GET /healthz HTTP/1.1', host)).status).toBe(200);
});

test.each([
  ['//[::bad', 404],
  ['/[::bad?http://[', 404],
  ['/%', 404],
  ['/#[::bad', 200],
  ['*', 404],
])('the target %s is a path, which is answered with %s', async (target, expected) => {
  const { status } = await send(`GET ${target} HTTP/1.1`, host);
  expect(status).toBe(expected);
  expect((await send('GET /healthz HTTP/1.1', host)).status).toBe(200);
});

test('a whole address gives the host and the path', async () => {
  const { status } = await send('GET http://127.0.0.1/healthz HTTP/1.1', 'Host: elsewhere.test');
  expect(status).toBe(200);
});

test('a request without a host is refused in words', async () => {
  const { status, body } = await send('GET /healthz HTTP/1.1');
  expect([status, JSON.parse(body)]).toMatchObject([400, { code: 'malformed_request' }]);
});
