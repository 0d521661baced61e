/** The client's types and the real API agree: what it sends is accepted, what it gets has its shape. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { ApiError, createClient, isPartial, OPERATIONS, type Client } from '../../client/index.ts';
import { startTestApp, type TestApp } from '../support/app.ts';

let app: TestApp;
let client: Client;

beforeAll(async () => {
  app = await startTestApp();
  const { token } = await app.user('builder');
  client = createClient({ baseUrl: app.url, token: () => token });
});
afterAll(() => app.close());

test('each operation is served at its method and path', () => {
  const served = app.app.endpoints.map(({ operationId, method, path, role }) => [
    operationId,
    { method, path, role },
  ]);
  expect(OPERATIONS).toEqual(
    Object.fromEntries(served.map(([id, operation]) => [id, expect.objectContaining(operation as object)])),
  );
});

test('records are created, read, changed, listed page by page, and removed', async () => {
  const created = [];
  for (const name of ['first', 'second', 'third'])
    created.push(
      await client.call('createWorkflow', {
        body: {
          name,
          definition: {
            document: { dsl: '1.0.3', namespace: 'test', name, version: '1.0.0' },
            do: [{ hello: { set: { greeting: 'hello' } } }],
          },
        },
        idempotencyKey: `create-${name}`,
      }),
    );
  expect(created.map(({ valid }) => valid)).toEqual([true, true, true]);
  const names: string[] = [];
  for await (const { name } of client.items('listWorkflows', { query: { limit: 1 } })) names.push(name);
  expect(names.toSorted()).toEqual(['first', 'second', 'third']);

  const [first] = created;
  const path = { id: first?.id ?? '' };
  expect(await client.call('updateWorkflow', { path, body: { tags: ['a'] } })).toMatchObject({ tags: ['a'] });
  expect(await client.call('getWorkflowDiagram', { path })).toContain('hello');
  expect(await client.call('deleteWorkflow', { path })).toBeUndefined();
  const error = await client.call('getWorkflow', { path }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 404, code: 'not_found', requestId: expect.any(String) });
});

test('an invalid body is refused with the pointer of its field', async () => {
  // @ts-expect-error: a number is no name; the server has to say so too
  const sent = client.call('createWorkflow', { body: { name: 1, definition: {} } });
  const error = await sent.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    status: 422,
    errors: expect.arrayContaining([expect.objectContaining({ pointer: '/name' })]),
  });
});

test('a file goes up and comes down as it is', async () => {
  const file = await client.call('uploadFile', { query: { name: 'a.txt' }, body: new Blob(['some text']) });
  const content = await client.call('downloadFile', { path: { id: file.id } });
  expect(await content.text()).toBe('some text');
});

test('a run is created, and its event stream brings the event', async () => {
  const workflow = await client.call('createWorkflow', {
    body: {
      name: 'to run',
      definition: {
        document: { dsl: '1.0.3', namespace: 'test', name: 'to-run', version: '1.0.0' },
        do: [{ hello: { set: { greeting: 'hello' } } }],
      },
    },
  });
  const run = await client.call('runWorkflow', { path: { id: workflow.id } });
  for await (const { type, data } of client.events('streamRunEvents', { path: { id: run.id } })) {
    expect([type, isPartial(data) || data.seq]).toEqual(['io.cadenza.workflow.created.v1', 1]);
    break;
  }
  expect((await client.page('listRuns', { query: { status: 'pending' } })).items).toMatchObject([
    { id: run.id },
  ]);
});
