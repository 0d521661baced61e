/** Requests, answers, errors and pages, against a real HTTP server. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { ApiError, createClient } from '../../../client/index.ts';
import { startPreparedServer, type PreparedServer } from './server.ts';

const id = '0197a1b2-0000-7000-8000-000000000001';
let server: PreparedServer;

beforeAll(async () => {
  server = await startPreparedServer();
});
afterAll(() => server.close());

test('path, query and body are sent as the operation declares them', async () => {
  server.answer({ status: 200, json: [] });
  server.answer({ status: 201, json: { id } });
  server.answer({ status: 200, json: {} });
  const client = createClient({ baseUrl: server.url, token: async () => 'secret' });
  await client.call('listRuns', { query: { status: 'faulted,waiting', q: 'a & b', limit: undefined } });
  await client.call('runWorkflow', {
    path: { id: 'a/b' },
    body: { input_params: { n: 1 } },
    idempotencyKey: 'k-1',
    headers: { prefer: 'wait=2' },
  });
  await client.call('updateAgent', { path: { id }, body: { tags: ['x'] } });
  const [list, run, update] = server.seen;
  expect(list).toMatchObject({
    method: 'GET',
    path: '/runs?status=faulted%2Cwaiting&q=a+%26+b',
    body: '',
    headers: { authorization: 'Bearer secret' },
  });
  expect(run).toMatchObject({
    method: 'POST',
    path: '/workflows/a%2Fb/run',
    body: '{"input_params":{"n":1}}',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'k-1', prefer: 'wait=2' },
  });
  expect(update).toMatchObject({ method: 'PATCH', path: `/agents/${id}` });
});

test('a list in a query is sent as a name for each value, and an empty one not at all', async () => {
  const client = createClient({ baseUrl: server.url });
  for (const head of [['1:a', '2:b'], []]) {
    server.answer({ status: 200, json: {} });
    await client.call('verifyAudit', { query: { head } });
  }
  expect(server.seen.slice(-2).map(({ path }) => path)).toEqual([
    '/audit/verification?head=1%3Aa&head=2%3Ab',
    '/audit/verification',
  ]);
});

test('answers are values, text or blobs, by their media type; 204 is undefined', async () => {
  const client = createClient({ baseUrl: server.url });
  server.answer({ status: 200, json: { status: 'ok' } });
  expect(await client.call('getHealth')).toEqual({ status: 'ok' });
  server.answer({ status: 200, type: 'text/vnd.mermaid', body: 'flowchart' });
  expect(await client.call('getWorkflowDiagram', { path: { id } })).toBe('flowchart');
  server.answer({ status: 204 });
  expect(await client.call('deleteSecret', { path: { name: 'x' } })).toBeUndefined();
  server.answer({ status: 200, type: 'image/png', body: 'bytes' });
  const file = await client.call('downloadFile', { path: { id } });
  expect([file.type, await file.text()]).toEqual(['image/png', 'bytes']);
});

test('an answer that is no JSON where the operation has only JSON is refused, with its type', async () => {
  const client = createClient({ baseUrl: server.url });
  const page = { status: 200, type: 'text/html', body: '<html></html>' };
  const what = `${server.url}/agents answers with text/html instead of JSON`;
  const message = `${what}: is this the address of Cadenza?`;
  server.answer(page);
  await expect(client.call('listAgents', { query: { q: 'a' } })).rejects.toMatchObject({
    status: 200,
    code: 'not_json',
    message,
  });
  server.answer(page);
  await expect(client.page('listAgents')).rejects.toMatchObject({ code: 'not_json', message });
  server.answer(page);
  await expect(client.call('deleteSecret', { path: { name: 'x' } })).rejects.toThrow(ApiError);
});

test('a tagged answer brings the state of its record', async () => {
  const client = createClient({ baseUrl: server.url });
  server.answer({ status: 200, json: { id }, headers: { etag: '"one"' } });
  server.answer({ status: 200, json: { id } });
  expect(await client.tagged('getWorkflow', { path: { id } })).toEqual({ record: { id }, etag: '"one"' });
  expect(await client.tagged('getWorkflow', { path: { id } })).toEqual({ record: { id }, etag: null });
});

test('a refusal is an ApiError with code, fields and request id', async () => {
  const problem = {
    title: 'Unprocessable Content',
    detail: 'The body is invalid.',
    code: 'invalid',
    request_id: 'r-1',
    errors: [{ pointer: '/amount', code: 'required', message: 'is missing' }],
    decision: { decision: 'approve' },
  };
  server.answer({ status: 422, type: 'application/problem+json', body: JSON.stringify(problem) });
  const error = await refusal();
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    status: 422,
    code: 'invalid',
    message: 'The body is invalid.',
    errors: problem.errors,
    requestId: 'r-1',
    problem: { decision: { decision: 'approve' } },
  });
});

test('a refusal that is no problem document still has a status, a code and an id', async () => {
  server.answer({
    status: 502,
    type: 'text/html',
    body: '<h1>Bad Gateway</h1>',
    headers: { 'x-request-id': 'r-2', 'retry-after': '7' },
  });
  expect(await refusal()).toMatchObject({
    status: 502,
    code: 'http_502',
    message: 'HTTP status 502',
    errors: [],
    requestId: 'r-2',
    retryAfterMs: 7_000,
  });
});

test('an unreachable server is a TypeError, an aborted request an AbortError', async () => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:1' });
  await expect(client.call('getHealth')).rejects.toThrow(expect.objectContaining({ name: 'TypeError' }));
  const aborted = AbortSignal.abort();
  await expect(createClient({ baseUrl: server.url }).call('getMe', { signal: aborted })).rejects.toThrow(
    expect.objectContaining({ name: 'AbortError' }),
  );
});

test.each([
  ['', 'the path /secrets/{name} needs name'],
  ['.', 'the path /secrets/{name} cannot have "." as name'],
  ['..', 'the path /secrets/{name} cannot have ".." as name'],
])('a part of the path that is "%s" is refused before anything is sent', async (name, message) => {
  const before = server.seen.length;
  const client = createClient({ baseUrl: server.url });
  const refused = client.call('deleteSecret', { path: { name } });
  await expect(refused).rejects.toThrow(expect.objectContaining({ name: 'TypeError', message }));
  expect(server.seen.length).toBe(before);
});

test('dots within a part of the path are sent as they are', async () => {
  const client = createClient({ baseUrl: server.url });
  server.answer({ status: 204 });
  await client.call('deleteSecret', { path: { name: '...' } });
  expect(server.seen.at(-1)).toMatchObject({ path: '/secrets/...' });
});

test('pages follow the cursor of the Link header', async () => {
  const client = createClient({ baseUrl: server.url });
  const link = (cursor: string) => ({ link: `<${server.url}/runs?limit=2&cursor=${cursor}>; rel="next"` });
  server.answer({ status: 200, json: [{ id: '1' }, { id: '2' }], headers: link('c%2F1') });
  expect(await client.page('listRuns', { query: { limit: 2 } })).toMatchObject({
    items: [{ id: '1' }, { id: '2' }],
    next: 'c/1',
  });
  server.answer({ status: 200, json: [{ id: '1' }], headers: link('c1') });
  server.answer({ status: 200, json: [{ id: '2' }], headers: link('c2') });
  server.answer({ status: 200, json: [{ id: '3' }] });
  const ids: string[] = [];
  for await (const run of client.items('listRuns', { query: { status: 'waiting' } })) ids.push(run.id);
  expect(ids).toEqual(['1', '2', '3']);
  expect(server.seen.slice(-3).map(({ path }) => path)).toEqual([
    '/runs?status=waiting',
    '/runs?status=waiting&cursor=c1',
    '/runs?status=waiting&cursor=c2',
  ]);
});

async function refusal(): Promise<unknown> {
  return createClient({ baseUrl: server.url })
    .call('getRun', { path: { id } })
    .then(
      () => undefined,
      (error: unknown) => error,
    );
}
