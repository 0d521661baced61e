/** `emit`, end to end: dsl-reference.md "Emit", CloudEvents 1.0. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  startRun,
  startTestPlatform,
  TEST_BASE_URL,
  until,
  type RunRecord,
  type TestPlatform,
} from '../../support/platform.ts';

let platform: TestPlatform;
beforeAll(async () => {
  platform = await startTestPlatform();
});
afterAll(() => platform.close());

const emit = (properties: Record<string, unknown>, input: Record<string, unknown> = {}) =>
  platform.runToEnd({ do: [{ tell: { emit: { event: { with: properties } } } }] }, input);
const emitted = (run: RunRecord): RunRecord[] =>
  run['logs'].filter((entry: RunRecord) => entry['type'] === 'io.cadenza.event.emitted.v1');

test('emit gives a complete CloudEvent as output, and logs it', async () => {
  const run = await emit({ type: 'com.example.greeted.v1', data: { hello: '${ .name }' } }, { name: 'Ada' });
  expect(run).toMatchObject({ status: 'completed' });
  expect(run['output']).toEqual({
    specversion: '1.0',
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
    source: `${TEST_BASE_URL}/runs/${run['id']}`,
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    type: 'com.example.greeted.v1',
    datacontenttype: 'application/json',
    data: { hello: 'Ada' },
  });
  const [entry, ...more] = emitted(run);
  expect(more).toEqual([]);
  expect(entry).toMatchObject({
    task: '/do/0/tell',
    level: 'info',
    message: 'tell emitted com.example.greeted.v1',
    data: { event: run['output'] },
  });
});

test('emit keeps what the definition says, drops null, and keeps extensions', async () => {
  const { output } = await emit(
    {
      id: '${ 42 }',
      source: 'https://petstore.example',
      type: 'a.b',
      time: '2026-01-02T03:04:05.6+01:00',
      subject: '${ .nothing }',
      dataschema: 'https://petstore.example/schema',
      datacontenttype: 'text/plain',
      data: 'plain',
      tenant: 7,
      urgent: '${ .urgent }',
      specversion: '1.0',
    },
    { urgent: true },
  );
  expect(output).toEqual({
    specversion: '1.0',
    id: '42',
    source: 'https://petstore.example',
    type: 'a.b',
    time: '2026-01-02T03:04:05.6+01:00',
    dataschema: 'https://petstore.example/schema',
    datacontenttype: 'text/plain',
    data: 'plain',
    tenant: 7,
    urgent: true,
  });
});

test('an event without data has no content type', async () => {
  const { output } = await emit({ type: 'a.b' });
  expect(Object.keys(output).toSorted()).toEqual(['id', 'source', 'specversion', 'time', 'type']);
});

test.each([
  ['type', { type: '${ .nothing }' }, 'no type'],
  ['type', { type: '${ "" }' }, 'is empty'],
  ['time', { type: 'a.b', time: 'yesterday' }, 'RFC 3339'],
  ['subject', { type: 'a.b', subject: '${ {} }' }, 'must be a text'],
  ['type', { type: '${ "a.b\\nid: 1" }' }, 'control characters'],
])('an invalid %s faults, and nothing is emitted', async (_name, properties, words) => {
  const run = await emit(properties);
  expect(run).toMatchObject({
    status: 'faulted',
    error: { status: 400, type: expect.stringContaining('/errors/validation'), instance: '/do/0/tell' },
  });
  expect(run['error'].detail).toContain(words);
  expect(emitted(run)).toEqual([]);
});

test('each visit emits once, whatever happens to the worker', async () => {
  const client = await platform.as('builder');
  const definition = {
    do: [
      {
        each: {
          for: { in: '[range(5)]' },
          do: [
            { tell: { emit: { event: { with: { type: 'a.b', data: '${ $item }' } } } } },
            { pause: { wait: { milliseconds: 50 } } },
          ],
        },
      },
      {
        guarded: {
          try: [
            { again: { emit: { event: { with: { type: 'c.d' } } } } },
            { fail: { raise: { error: { type: 'https://example.com/e', status: 500 } } } },
          ],
          catch: { retry: { limit: { attempt: { count: 1 } } }, do: [{ done: { set: { ok: true } } }] },
        },
      },
    ],
  };
  const { id } = await startRun(client, definition);
  await platform.stopWorker();
  await platform.startWorker();
  const read = async (): Promise<RunRecord> => (await client.get(`/runs/${id}`)).body;
  const final = await until(read, (run) => run['status'] === 'completed');
  const events = emitted(final).map((entry) => entry['data'].event);
  expect(events.filter(({ type }) => type === 'a.b').map(({ data }) => data)).toEqual([0, 1, 2, 3, 4]);
  expect(events.filter(({ type }) => type === 'c.d')).toHaveLength(2);
  expect(new Set(events.map(({ id }) => id)).size).toBe(7);
});
