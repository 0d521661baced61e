/** How the API serves the built console. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type TestApp } from '../../../support/app.ts';
import { threadClock } from '../../../support/machine.ts';

const folder = mkdtempSync(join(tmpdir(), 'cadenza-console-'));
const script = `export const text = '${'a long script '.repeat(200)}';`;
let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({ consoleFolder: folder });
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

function build(index: string): void {
  mkdirSync(join(folder, 'assets'), { recursive: true });
  writeFileSync(join(folder, 'assets/index-1a2b.js'), script);
  writeFileSync(join(folder, 'icon.svg'), '<svg/>');
  writeFileSync(join(folder, '.sources'), 'a hash');
  writeFileSync(join(folder, 'index.html'), index);
}

test('before the first build the address says how to build it', async () => {
  const reply = await app.anonymous.get('/console/inbox');
  expect([reply.status, reply.headers.get('cache-control')]).toEqual([503, 'no-store']);
  expect(reply.body).toContain('npm run build:console');
});

test('the address without a slash leads to the one with it, and keeps the query', async () => {
  const reply = await app.anonymous.get('/console?task=1');
  expect([reply.status, reply.headers.get('location')]).toEqual([308, '/console/?task=1']);
});

test('a browser that opens the address of the server comes to the console, a program does not', async () => {
  const open = (accept: string): Promise<Response> =>
    fetch(`${app.url}/`, { headers: { accept }, redirect: 'manual' });
  const browser = await open('text/html,application/xhtml+xml,*/*;q=0.8');
  expect([browser.status, browser.headers.get('location')]).toEqual([302, '/console/']);
  const program = await open('*/*');
  expect([program.status, program.headers.get('vary')]).toEqual([200, expect.stringContaining('Accept')]);
  const links = { openapi: `${app.url}/openapi.json`, console: `${app.url}/console/` };
  expect(await program.json()).toMatchObject({ name: 'Cadenza', links });
});

test('every screen is the same page, under a policy that allows this server only', async () => {
  build('<p>first</p>');
  for (const path of ['/console/', '/console/inbox?q=a.b', '/console/runs/0197a1b2']) {
    const reply = await app.anonymous.get(path);
    expect([path, reply.status, reply.body]).toEqual([path, 200, '<p>first</p>']);
    expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(reply.headers.get('cache-control')).toBe('no-cache');
    const policy = reply.headers.get('content-security-policy') ?? '';
    expect(policy).toContain(`default-src 'none'`);
    expect(policy).toContain(`require-trusted-types-for 'script'`);
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(reply.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
  }
});

test('hashed files may be kept for ever, and travel compressed', async () => {
  const plain = await raw('/console/assets/index-1a2b.js', { 'accept-encoding': 'identity' });
  expect([plain.status, plain.headers['cache-control']]).toEqual([
    200,
    'public, max-age=31536000, immutable',
  ]);
  expect([plain.headers['content-type'], plain.body.toString()]).toEqual([
    'text/javascript; charset=utf-8',
    script,
  ]);
  const small = await raw('/console/assets/index-1a2b.js', { 'accept-encoding': 'gzip, br' });
  expect([small.headers['content-encoding'], small.headers['vary']]).toEqual(['br', 'Accept-Encoding']);
  expect(brotliDecompressSync(small.body).toString()).toBe(script);
  expect(small.body.length).toBeLessThan(script.length / 10);
  expect(small.headers['etag']).not.toBe(plain.headers['etag']);
});

test('a page that has not changed is not sent again, in any coding', async () => {
  for (const coding of ['identity', 'br']) {
    const headers = { 'accept-encoding': coding };
    const { headers: first } = await raw('/console/assets/index-1a2b.js', headers);
    const again = await raw('/console/assets/index-1a2b.js', {
      ...headers,
      'if-none-match': String(first['etag']),
    });
    expect([coding, again.status, again.body.length, again.headers['etag']]).toEqual([
      coding,
      304,
      0,
      first['etag'],
    ]);
  }
});

test('a new build is served without a restart', async () => {
  build('<p>second</p>');
  const later = new Date(Date.now() + 5_000);
  utimesSync(join(folder, 'index.html'), later, later);
  expect((await app.anonymous.get('/console/')).body).toBe('<p>second</p>');
});

test.each([
  ['a file that is not there', '/console/assets/none.js'],
  ['a hidden file', '/console/.sources'],
  ['a file outside', '/console/..%2f..%2fpackage.json'],
  ['a file outside, with dots', '/console/assets/../../package.json'],
])('%s is a 404', async (_name, path) => {
  const { status, body } = await raw(path, {});
  expect([status, body.toString().includes('cadenza"')]).toEqual([404, false]);
});

test('a path of very many dots takes no longer than another', async () => {
  const spentMs = threadClock();
  const { status } = await raw(`/console/${'.'.repeat(40_000)}/`, {});
  expect(status).toBe(200);
  // A regular expression took more than three seconds.
  expect(spentMs()).toBeLessThan(1_500);
});

test('the session and other methods are the business of the API', async () => {
  expect((await app.anonymous.get('/console/session')).status).toBe(204);
  expect((await app.anonymous.post('/console/inbox', {})).status).toBe(404);
  const head = await app.anonymous.request('HEAD', '/console/');
  expect([head.status, head.body]).toEqual([200, null]);
});

/** As it comes, without decoding, and with the path as it is written. */
function raw(
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(app.url);
    request({ hostname, port, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: { ...response.headers },
          body: Buffer.concat(chunks),
        }),
      );
    })
      .on('error', reject)
      .end();
  });
}
