/** nginx with the configuration of docker/nginx.conf, in front of the API. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { request, type RequestOptions } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect } from '@jest/globals';

import { startTestApp, type TestApp } from '../support/app.ts';
import { createAuthority, pem, type Authority } from '../support/certificates.ts';
import { listens, ownPort } from '../support/machine.ts';
import { testUnless } from '../support/outside.ts';
import { until } from '../support/platform.ts';

const program = ['nginx', '/usr/sbin/nginx'].find((name) => spawnSync(name, ['-v']).status === 0);
const testWithNginx = testUnless(program === undefined ? 'nginx is not installed' : undefined);
const sample = join(import.meta.dirname, '../../docker/nginx.conf');

let app: TestApp;
let authority: Authority;
let folder: string;
let nginx: ChildProcess;
let port: number;
let grpcPort: number;

if (program !== undefined) {
  beforeAll(async () => {
    app = await startTestApp({ env: { TRUST_PROXY: 'true', A2A_GRPC_PORT: '0' } });
    authority = createAuthority();
    folder = mkdtempSync(join(tmpdir(), 'cadenza-nginx-'));
    [port, grpcPort] = [await ownPort(), await ownPort()];
    writeFileSync(join(folder, 'nginx.conf'), await configuration());
    nginx = spawn(program, ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' });
    await until(
      async () => (await listens(port)) && (await listens(grpcPort)),
      (isThere) => isThere,
    );
  });
  afterAll(async () => {
    nginx.kill();
    await app.close();
    for (const made of [folder, authority.folder]) rmSync(made, { recursive: true, force: true });
  });
}

/** The sample with the ports and the certificate of this test, in a file that says where nginx may write. */
async function configuration(): Promise<string> {
  const { cert, key } = authority.issue('cadenza.example.com');
  const replaced = [
    ['listen 443', `listen 127.0.0.1:${port}`],
    ['listen 50052', `listen 127.0.0.1:${grpcPort}`],
    ['127.0.0.1:3000', new URL(app.url).host],
    ['127.0.0.1:50051', new URL(`http://${app.app.deps.grpc.url}`).host],
    ['/etc/ssl/cadenza/tls.crt', cert],
    ['/etc/ssl/cadenza/tls.key', key],
  ] as const;
  let site = readFileSync(sample, 'utf8');
  for (const [from, to] of replaced) {
    expect(site).toContain(from);
    site = site.replaceAll(from, to);
  }
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const folders = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ');
  const start = `daemon off; pid ${folder}/pid; error_log ${folder}/errors; events {}`;
  return `${start} http { access_log off; ${folders} ${site} }`;
}

function send(path: string, options: RequestOptions, body?: string | Buffer): Promise<IncomingMessage> {
  const tls = { ca: pem(authority.cert), servername: 'cadenza.example.com' };
  return new Promise((resolve, reject) => {
    const sent = request({ ...tls, host: '127.0.0.1', port, path, ...options }, resolve);
    sent.once('error', reject);
    sent.end(body);
  });
}

testWithNginx('requests reach the API, which knows the address of the client', async () => {
  const admin = await app.user('admin');
  const reply = await send(
    '/users',
    {
      method: 'POST',
      headers: {
        authorization: `Bearer ${admin.token}`,
        'content-type': 'application/json',
        'x-forwarded-for': '198.51.100.7',
      },
    },
    JSON.stringify({
      username: 'through-nginx',
      email: 'through@example.com',
      password: 'correct horse battery',
      roles: ['viewer'],
    }),
  );
  const created = JSON.parse(await text(reply));
  expect([reply.statusCode, created]).toMatchObject([201, { username: 'through-nginx' }]);
  const entries = (await (await app.as('admin')).get(`/audit?object_id=${created.id}`)).body;
  // What the client claims does not count.
  expect(entries).toMatchObject([{ action: 'createUser', address: '127.0.0.1' }]);
});

testWithNginx('a stream arrives as it is written', async () => {
  const viewer = await app.user('viewer');
  const stream = await send('/notifications/stream', {
    headers: { authorization: `Bearer ${viewer.token}` },
  });
  expect(stream.headers['content-type']).toContain('text/event-stream');
  const first = await new Promise<Buffer>((resolve) => stream.once('data', resolve));
  expect(first.toString()).toMatch(/^event: unread/);
  stream.destroy();
});

testWithNginx('the API itself says that a body is too large', async () => {
  const { token } = await app.user('admin');
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ username: 'x'.repeat(20_000_000) });
  const reply = await send('/users', { method: 'POST', headers }, body);
  expect([reply.statusCode, reply.headers['content-type']]).toEqual([413, 'application/problem+json']);
});

testWithNginx('A2A over gRPC goes through', async () => {
  const session = connect(`https://127.0.0.1:${grpcPort}`, {
    ca: pem(authority.cert),
    servername: 'cadenza.example.com',
  });
  const call = session.request({
    ':method': 'POST',
    ':path': '/lf.a2a.v1.A2AService/GetTask',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  call.end(Buffer.alloc(5));
  const status = await new Promise<unknown>((resolve, reject) => {
    call.once('error', reject);
    call.once('response', (headers) => headers['grpc-status'] && resolve(headers['grpc-status']));
    call.once('trailers', (headers) => resolve(headers['grpc-status']));
    call.resume();
  });
  session.close();
  // UNAUTHENTICATED: the call has no token.
  expect(status).toBe('16');
});
