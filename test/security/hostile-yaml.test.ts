/** YAML of a stranger's server, which a definition names, holds up nobody. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { createDocumentSource } from '../../adapters/openapi/document.ts';
import { startTestApp, type Client, type TestApp } from '../support/app.ts';
import { startServer, type TestServer } from '../support/http-server.ts';
import { threadClock } from '../support/machine.ts';

const KIB = 1024;
const SIZE = 240 * KIB;
/** The worst of these takes a third of it; an earlier reader took 1.6 s for closing brackets. */
const MOST_MS = 1_000;
const HOSTILE: [string, string][] = [
  ['reserved', `a: [${'@,'.repeat(SIZE / 2)}`],
  ['closing', `a: ${']'.repeat(SIZE)}`],
  ['escapes', `"${'\\z'.repeat(SIZE / 2)}"`],
  ['nested', `a: ${'['.repeat(SIZE)}`],
];

let app: TestApp;
let server: TestServer;
let viewer: Client;
beforeAll(async () => {
  server = await startServer(({ path }, response) => {
    const [, text = ''] = HOSTILE.find(([name]) => path === `/${name}`) ?? [];
    response.writeHead(200).end(text);
  });
  app = await startTestApp({ env: { EGRESS_HOST_MAP: `https://evil.test=${server.url}` } });
  viewer = await app.as('viewer');
});
afterAll(async () => {
  await app.close();
  await server.close();
});

test.each(HOSTILE)('a viewer validates a definition with %s', async (name) => {
  const definition = {
    input: { schema: { format: 'json', resource: { endpoint: `https://evil.test/${name}` } } },
    do: [{ a: { set: { b: 1 } } }],
  };
  const state = { done: false };
  const reply = viewer.post('/workflows/validate', { definition }).finally(() => {
    state.done = true;
  });
  let longest = 0;
  while (!state.done) {
    const spent = threadClock();
    await app.anonymous.get('/healthz');
    longest = Math.max(longest, spent());
  }
  expect((await reply).body.problems).toMatchObject([{ code: 'resource_refused' }]);
  expect(longest).toBeLessThan(MOST_MS);
});

test.each(HOSTILE)('a worker reads an OpenAPI document with %s', async (_name, text) => {
  const source = createDocumentSource();
  const spent = threadClock();
  const get = async (url: string) => ({ url, status: 200, headers: {}, bytes: Buffer.from(text) });
  await expect(source.load('https://evil.test/', get as never)).rejects.toThrow();
  expect(spent()).toBeLessThan(MOST_MS);
});
